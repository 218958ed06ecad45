/* Runs a Lua script with arguments: the interpreter's own main program isn't in the crate. */
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include <stdio.h>

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: lua SCRIPT [ARGUMENT]...\n");
    return 2;
  }
  lua_State *L = luaL_newstate();
  if (L == NULL)
    return 1;
  luaL_openlibs(L);
  lua_createtable(L, argc, 0);
  for (int i = 1; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - 1);
  }
  lua_setglobal(L, "arg");
  int failed = luaL_loadfile(L, argv[1]) || lua_pcall(L, 0, 0, 0);
  if (failed)
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return failed;
}
