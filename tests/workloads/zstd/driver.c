/* zstd's own main program isn't in the crate: `zstd FILE LEVEL WORKERS` compresses a file with so many worker threads
 * (0: in this one), unpacks it again, and prints the sizes and a checksum of the frame. */
#include "zstd.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t ok(size_t result) {
  if (ZSTD_isError(result)) {
    fprintf(stderr, "zstd: %s\n", ZSTD_getErrorName(result));
    exit(1);
  }
  return result;
}

static char *read_all(const char *name, size_t *size) {
  FILE *file = fopen(name, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    perror(name);
    exit(1);
  }
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  if (bytes == NULL || fread(bytes, 1, *size, file) != *size)
    exit(1);
  fclose(file);
  return bytes;
}

static unsigned long checksum(const unsigned char *bytes, size_t size) {
  unsigned long sum = 5381;
  for (size_t i = 0; i < size; i++)
    sum = sum * 33 + bytes[i];
  return sum;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: zstd FILE LEVEL WORKERS\n");
    return 2;
  }
  size_t size;
  char *text = read_all(argv[1], &size);
  size_t room = ZSTD_compressBound(size);
  char *frame = malloc(room), *back = malloc(size + 1);
  ZSTD_CCtx *cctx = ZSTD_createCCtx();
  ZSTD_DCtx *dctx = ZSTD_createDCtx();
  if (frame == NULL || back == NULL || cctx == NULL || dctx == NULL)
    return 1;
  ok(ZSTD_CCtx_setParameter(cctx, ZSTD_c_compressionLevel, atoi(argv[2])));
  ok(ZSTD_CCtx_setParameter(cctx, ZSTD_c_nbWorkers, atoi(argv[3])));
  if (atoi(argv[3]) > 0)
    ok(ZSTD_CCtx_setParameter(cctx, ZSTD_c_jobSize, 1 << 20));
  ok(ZSTD_CCtx_setParameter(cctx, ZSTD_c_checksumFlag, 1));
  size_t packed = ok(ZSTD_compress2(cctx, frame, room, text, size));
  for (int turn = 0; turn < 4; turn++)
    if (ok(ZSTD_decompressDCtx(dctx, back, size + 1, frame, packed)) != size || memcmp(back, text, size) != 0)
      return 1;
  printf("%zu %zu %lx\n", size, packed, checksum((unsigned char *)frame, packed));
  ZSTD_freeCCtx(cctx);
  ZSTD_freeDCtx(dctx);
  return 0;
}
