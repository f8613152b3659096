<?php
/*
 * Calls of every kind, whose chains are known: each ends in a function of its own that uses CPU time.
 *
 * usage: php_chains.php SECONDS
 *
 * Writes a line for each chain: the functions from the outermost to the innermost one, each with the line that it was at unless
 * it is built in, with semicolons between them. Runs on every version from 7.4 on.
 */
namespace Chains;

$chains = [];

function get_cpu_time(): float
{
    $usage = getrusage();
    return $usage['ru_utime.tv_sec'] + $usage['ru_utime.tv_usec'] / 1e6;
}

/* As the profiler is to call a level of debug_backtrace(). */
function get_name(array $level): string
{
    if ($level['function'] == 'include' && !isset($level['class'])) {
        return 'include ' . basename($level['args'][0]);
    }
    return (isset($level['class']) ? $level['class'] . '::' : '') . $level['function'];
}

/* A level says where it was called: that is the line of the one that follows. */
function make_chain(array $levels): string
{
    $names = [];
    foreach ($levels as $i => $level) {
        $line = $i ? $levels[$i - 1]['line'] ?? '' : '';
        $names[] = get_name($level) . ($line ? ' @' . $line : '');
    }
    $names[] = '{main} @' . end($levels)['line'];
    return implode(';', array_reverse(array_slice($names, 1)));
}

/* Note who has called the leaf, once, and do what takes time. */
function use_time(string $leaf): int
{
    global $chains;
    if (!isset($chains[$leaf])) {
        $chains[$leaf] = make_chain(debug_backtrace());
    }
    $x = 0;
    for ($i = 0; $i < 3000; $i++) {
        $x = ($x * 31 + $i) & 0xffff;
    }
    return $x;
}

function leaf_plain() { return use_time('plain'); }
function leaf_map($x) { return use_time('map'); }
function leaf_sort($a, $b) { use_time('sort'); return $a <=> $b; }
function leaf_recursion() { return use_time('recursion'); }
function leaf_exception() { return use_time('exception'); }
function leaf_finally() { return use_time('finally'); }
function leaf_generator() { return use_time('generator'); }
function leaf_delegate() { return use_time('delegate'); }
function leaf_array() { return use_time('array'); }
function leaf_eval() { return use_time('eval'); }
function leaf_reference(...$more) { return use_time('reference'); }
function leaf_match(array $found) { use_time('match'); return $found[0]; }

function call_plain($more = 1, ...$others) { return leaf_plain(); }

abstract class Base
{
    public function __construct() { use_time('constructor'); }
    public function __destruct() { use_time('destructor'); }
    public function __get($name) { return use_time('get'); }
    public function __call($name, $arguments) { return use_time('call'); }
    public static function __callStatic($name, $arguments) { return use_time('call_static'); }
    public function __toString() { return (string)use_time('to_string'); }
    public function __invoke() { return use_time('invoke'); }
    protected function inherited() { return use_time('inherited'); }
    public static function make() { return new static(); }
}

class Made extends Base implements \IteratorAggregate, \Countable
{
    use Mixed_In;
    public function run() { return $this->inherited(); }
    #[\ReturnTypeWillChange]
    public function getIterator() { use_time('aggregate'); yield 1; }
    #[\ReturnTypeWillChange]
    public function count() { return use_time('count'); }
}

trait Mixed_In
{
    public function of_trait() { return use_time('trait'); }
}

function call_object()
{
    $made = Made::make();
    $made->run();
    $made->of_trait();
    $made->missing;
    $made->missing();
    Made::missing_static();
    $made();
    strlen($made);
    count($made);
    foreach ($made as $value) {
        ;
    }
}

function call_callbacks()
{
    array_map('Chains\leaf_map', [1]);
    $list = [2, 1];
    usort($list, 'Chains\leaf_sort');
    preg_replace_callback('/a/', 'Chains\leaf_match', 'a');
    call_user_func_array('Chains\leaf_reference', [1, 2]);
    array_walk($list, function () { return use_time('closure'); });
    (fn() => use_time('arrow'))();
}

function recurse(int $depth)
{
    return $depth ? recurse($depth - 1) : leaf_recursion();
}

function fail(int $depth)
{
    try {
        if ($depth) {
            fail($depth - 1);
        }
        throw new \Exception('expected');
    } finally {
        if ($depth == 3) {
            leaf_finally();
        }
    }
}

function call_exception()
{
    try {
        fail(5);
    } catch (\Exception $exception) {
        leaf_exception();
    }
}

function generate()
{
    for ($i = 0; $i < 2; $i++) {
        leaf_generator();
        yield $i;
    }
}

function generate_inner()
{
    leaf_delegate();
    yield 1;
    return 2;
}

function generate_middle() { return yield from generate_inner(); }
function generate_outer() { yield from generate_middle(); }

function call_generators()
{
    foreach (generate() as $value) {
        ;
    }
    foreach (generate_outer() as $value) {
        ;
    }
    iterator_to_array((function () { use_time('to_array'); yield 1; })());
}

function call_eval() { return eval('return \Chains\leaf_eval();'); }
function call_include() { return include $GLOBALS['included']; }
function call_autoload() { return spl_autoload_call('Chains\Missing' . mt_rand()); }

function run_fiber()
{
    use_time('fiber');
    \Fiber::suspend();
    use_time('resumed');
}

function call_fiber()
{
    $fiber = new \Fiber('Chains\run_fiber');
    $fiber->start();
    $fiber->resume();
}

function run(float $seconds)
{
    $end = get_cpu_time() + $seconds;
    while (get_cpu_time() < $end) {
        call_plain(1, 2, 3);
        call_object();
        call_callbacks();
        recurse(60);
        call_exception();
        call_generators();
        call_eval();
        call_include();
        call_autoload();
        if (class_exists('Fiber', false)) {
            call_fiber();
        }
    }
}

spl_autoload_register(function ($class) { use_time('autoload'); });
$included = sys_get_temp_dir() . '/php_chains_included.php';
file_put_contents($included, "<?php\nreturn \\Chains\\use_time('include');\n");
run((float)$argv[1]);
unlink($included);
ksort($chains);
foreach ($chains as $chain) {
    echo $chain, "\n";
}
