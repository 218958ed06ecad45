/* `quickjs SCRIPT SIZE` runs a script with QuickJS alone, without its operating system library: the script sees
 * `print` and `size`. */
#include "quickjs.h"
#include <stdio.h>
#include <stdlib.h>

static JSValue print(JSContext *context, JSValueConst this, int count, JSValueConst *values) {
  (void)this;
  for (int i = 0; i < count; i++) {
    const char *text = JS_ToCString(context, values[i]);
    if (text == NULL)
      return JS_EXCEPTION;
    printf("%s%s", i ? " " : "", text);
    JS_FreeCString(context, text);
  }
  printf("\n");
  return JS_UNDEFINED;
}

int main(int argc, char **argv) {
  static char script[1 << 16];
  FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL) {
    fprintf(stderr, "usage: quickjs SCRIPT SIZE\n");
    return 2;
  }
  size_t length = fread(script, 1, sizeof script - 1, file);
  fclose(file);
  JSRuntime *runtime = JS_NewRuntime();
  JSContext *context = runtime ? JS_NewContext(runtime) : NULL;
  if (context == NULL)
    return 1;
  JSValue global = JS_GetGlobalObject(context);
  JS_SetPropertyStr(context, global, "print", JS_NewCFunction(context, print, "print", 1));
  JS_SetPropertyStr(context, global, "size", JS_NewInt32(context, atoi(argv[2])));
  JSValue result = JS_Eval(context, script, length, argv[1], JS_EVAL_TYPE_GLOBAL);
  int failed = JS_IsException(result);
  if (failed) {
    const char *text = JS_ToCString(context, JS_GetException(context));
    fprintf(stderr, "%s\n", text ? text : "an exception that has no text");
  }
  JS_FreeValue(context, result);
  JS_FreeValue(context, global);
  JS_FreeContext(context);
  if (!failed)
    JS_FreeRuntime(runtime);
  return failed;
}
