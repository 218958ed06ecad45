/* xz's main program wants a configured build: `xz FILE PRESET THREADS` packs a file with liblzma, several blocks at a time
 * where there are several threads, unpacks it again, and prints the sizes and a checksum of what it packed. */
#include "lzma.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *read_all(const char *name, size_t *size) {
  FILE *file = fopen(name, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    perror(name);
    exit(1);
  }
  *size = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(*size + 1);
  if (bytes == NULL || fread(bytes, 1, *size, file) != *size)
    exit(1);
  fclose(file);
  return bytes;
}

static size_t finish(lzma_stream *stream, const uint8_t *in, size_t size, uint8_t *out, size_t room) {
  stream->next_in = in;
  stream->avail_in = size;
  stream->next_out = out;
  stream->avail_out = room;
  lzma_ret result;
  do
    result = lzma_code(stream, LZMA_FINISH);
  while (result == LZMA_OK);
  if (result != LZMA_STREAM_END) {
    fprintf(stderr, "xz: lzma_code gave %d\n", (int)result);
    exit(1);
  }
  size_t written = room - stream->avail_out;
  lzma_end(stream);
  return written;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: xz FILE PRESET THREADS\n");
    return 2;
  }
  size_t size;
  uint8_t *text = read_all(argv[1], &size);
  size_t room = lzma_stream_buffer_bound(size) + size / 8;
  uint8_t *packed = malloc(room), *back = malloc(size + 1);
  if (packed == NULL || back == NULL)
    return 1;
  uint32_t threads = (uint32_t)atoi(argv[3]);
  lzma_mt many = {.threads = threads, .block_size = 1 << 19, .preset = (uint32_t)atoi(argv[2]), .check = LZMA_CHECK_CRC32};
  lzma_stream coder = LZMA_STREAM_INIT;
  lzma_ret begun =
      threads > 1 ? lzma_stream_encoder_mt(&coder, &many) : lzma_easy_encoder(&coder, many.preset, LZMA_CHECK_CRC32);
  if (begun != LZMA_OK)
    return 1;
  size_t packed_size = finish(&coder, text, size, packed, room);
  for (int turn = 0; turn < 4; turn++) {
    many = (lzma_mt){.threads = threads, .memlimit_threading = UINT64_MAX, .memlimit_stop = UINT64_MAX};
    coder = (lzma_stream)LZMA_STREAM_INIT;
    begun = threads > 1 ? lzma_stream_decoder_mt(&coder, &many) : lzma_stream_decoder(&coder, UINT64_MAX, 0);
    if (begun != LZMA_OK || finish(&coder, packed, packed_size, back, size + 1) != size || memcmp(back, text, size) != 0)
      return 1;
  }
  printf("%zu %zu %x\n", size, packed_size, (unsigned)lzma_crc32(packed, packed_size, 0));
  return 0;
}
