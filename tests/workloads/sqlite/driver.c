/* A fixed SQL workload on a database in memory: `sqlite SIZE` prints what each query gives. */
#include "sqlite3.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *database;

static int print_row(void *prefix, int columns, char **values, char **names) {
  (void)names;
  printf("%s", (const char *)prefix);
  for (int i = 0; i < columns; i++)
    printf(" %s", values[i] ? values[i] : "NULL");
  printf("\n");
  return 0;
}

static void run(const char *prefix, const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(database, sql, print_row, (void *)prefix, &message) != SQLITE_OK) {
    fprintf(stderr, "%s: %s\n", sql, message);
    exit(1);
  }
}

static void fill(int rows) {
  sqlite3_stmt *insert;
  const char *sql = "INSERT INTO item(id, grp, name, price, note) VALUES(?1, ?2, ?3, ?4, ?5)";
  if (sqlite3_prepare_v2(database, sql, -1, &insert, NULL) != SQLITE_OK)
    exit(1);
  unsigned state = 7;
  run("begin", "BEGIN");
  for (int i = 0; i < rows; i++) {
    char name[32];
    state = state * 1664525u + 1013904223u;
    snprintf(name, sizeof name, "name-%05u", state >> 12 & 0xffff);
    sqlite3_bind_int(insert, 1, i);
    sqlite3_bind_int(insert, 2, (int)(state >> 8 & 63));
    sqlite3_bind_text(insert, 3, name, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int(insert, 4, (int)(state >> 16));
    if (state & 256)
      sqlite3_bind_null(insert, 5);
    else
      sqlite3_bind_text(insert, 5, "a note that is a bit longer than the name", -1, SQLITE_STATIC);
    if (sqlite3_step(insert) != SQLITE_DONE)
      exit(1);
    sqlite3_reset(insert);
  }
  run("commit", "COMMIT");
  sqlite3_finalize(insert);
}

int main(int argc, char **argv) {
  int size = argc > 1 ? atoi(argv[1]) : 1;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK)
    return 1;
  run("schema", "CREATE TABLE item(id INTEGER PRIMARY KEY, grp INT, name TEXT, price INT, note TEXT);"
                "CREATE TABLE grp(id INTEGER PRIMARY KEY, title TEXT);"
                "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<63) "
                "INSERT INTO grp SELECT i, 'group ' || i FROM n;");
  fill(size * 1000);
  run("index", "CREATE INDEX by_name ON item(name); CREATE INDEX by_group ON item(grp, price); ANALYZE;");
  run("count", "SELECT count(*), sum(price), min(name), max(name), count(note) FROM item");
  run("groups", "SELECT g.title, count(*), avg(i.price) > 30000 FROM item i JOIN grp g ON g.id = i.grp "
                "GROUP BY g.id ORDER BY count(*) DESC, g.id LIMIT 5");
  run("like", "SELECT count(*) FROM item WHERE name LIKE '%9%7%' OR note LIKE '%longer%name'");
  run("window", "SELECT grp, m FROM (SELECT grp, max(price) OVER (PARTITION BY grp ORDER BY id ROWS 10 PRECEDING) "
                "AS m FROM item) GROUP BY grp HAVING m > 0 ORDER BY m DESC, grp LIMIT 3");
  for (int i = 0; i < size * 20; i++) {
    char sql[160];
    snprintf(sql, sizeof sql, "UPDATE item SET price = price + %d WHERE grp = %d AND price BETWEEN %d AND %d", i % 7, i % 64,
             i * 50 % 60000, i * 50 % 60000 + 3000);
    run("update", sql);
  }
  run("delete", "DELETE FROM item WHERE id % 7 = 3; SELECT count(*), sum(price) FROM item");
  run("recursive", "WITH RECURSIVE f(a, b, n) AS (SELECT 0, 1, 0 UNION ALL SELECT b, (a + b) % 1000003, n + 1 FROM f "
                   "WHERE n < 5000) SELECT sum(a) FROM f");
  run("json", "SELECT json_group_array(json_object('id', id, 'p', price)) FROM (SELECT id, price FROM item ORDER BY id LIMIT 4)");
  run("integrity", "PRAGMA integrity_check");
  return sqlite3_close(database) != SQLITE_OK;
}
