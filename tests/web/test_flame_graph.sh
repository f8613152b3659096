#!/bin/bash
# A flame graph's behaviour in a browser: zoom, search, links, keyboard, dark mode.
# runs: beside others
. "$(dirname "$0")/web.sh"

cat >"$scratch/graph.json" <<'END'
{"name": "all", "value": 100, "children": [
  {"name": "main", "value": 80, "children": [
    {"name": "Parse", "value": 40, "children": [
      {"name": "read", "value": 10, "children": [{"name": "parse_int", "value": 10}]}]},
    {"name": "parse", "value": 20},
    {"name": "write", "value": 20}]},
  {"name": "worker", "value": 20, "children": [{"name": "write", "value": 15}]}]}
END
"$STACKWIDE" convert "$scratch/graph.json" -o "$scratch/graph.svg" || exit
"$STACKWIDE" convert "$scratch/graph.json" --inverted -o "$scratch/inverted.svg" || exit
printf '{"name":"all","value":3,"children":[{"name":"%s","value":3}]}' \
    '<b>&amp;\u0000\u0001\u001b]]>\u0085\ufffe\u2028--> ${x} (1 samples, 2%)' >"$scratch/names.json"
"$STACKWIDE" convert "$scratch/names.json" -o "$scratch/names.svg" \
    --title '</text><script>throw 1</script>' || exit
printf '{"name":"all","value":0,"children":[]}' >"$scratch/empty.json"
"$STACKWIDE" convert "$scratch/empty.json" -o "$scratch/empty.svg" || exit
run_page_test flame_graph.js "$scratch"
