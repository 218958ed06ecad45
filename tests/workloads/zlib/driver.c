/* `zlib FILE` packs and unpacks a file with zlib at the levels 1, 6 and 9, and prints the sizes and a checksum of what
 * it packed. */
#include "zlib.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Bytef *read_all(const char *name, uLong *size) {
  FILE *file = fopen(name, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    perror(name);
    exit(1);
  }
  *size = (uLong)ftell(file);
  rewind(file);
  Bytef *bytes = malloc(*size + 1);
  if (bytes == NULL || fread(bytes, 1, *size, file) != *size)
    exit(1);
  fclose(file);
  return bytes;
}

int main(int argc, char **argv) {
  static const int levels[] = {1, 6, 9};
  if (argc != 2) {
    fprintf(stderr, "usage: zlib FILE\n");
    return 2;
  }
  uLong size;
  Bytef *text = read_all(argv[1], &size);
  uLong room = compressBound(size);
  Bytef *packed = malloc(room), *back = malloc(size + 1);
  if (packed == NULL || back == NULL)
    return 1;
  for (int i = 0; i < 3; i++) {
    uLongf packed_size = room;
    if (compress2(packed, &packed_size, text, size, levels[i]) != Z_OK)
      return 1;
    for (int turn = 0; turn < 3; turn++) {
      uLongf back_size = size + 1;
      if (uncompress(back, &back_size, packed, packed_size) != Z_OK || back_size != size || memcmp(back, text, size) != 0)
        return 1;
    }
    printf("%d %lu %lu %lx\n", levels[i], size, packed_size, crc32(0, packed, (uInt)packed_size));
  }
  return 0;
}
