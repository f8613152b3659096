#!/bin/bash
# User stacks of a database are whole.
# runs: beside others
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/whole_stacks.sh"
need_recording
need_command sqlite3

expect_whole_load sqlite 98.8 99.8 1999 bash -c \
    'end=$((SECONDS + 2)); while ((SECONDS < end)); do sqlite3 :memory: "$1"; done' - '
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, weight REAL);
WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 200000)
INSERT INTO item SELECT n, printf("name %d", n * 7919 % 200003), n * 1.5 FROM number;
CREATE INDEX by_name ON item (name);
SELECT count(*), sum(a.weight) FROM item a JOIN item b ON a.name = b.name WHERE b.id % 3 = 0;
SELECT name, upper(name) FROM item WHERE name LIKE "%77%" ORDER BY weight DESC LIMIT 10;
'
