# Calls of every kind, whose chains are known: each ends in a function of its own that uses CPU time.
#
# usage: ruby_chains.rb SECONDS
#
# Writes a line for each chain: the functions from the outermost to the innermost one, each with the line that it was at, with
# semicolons between them. What is in C has the line of its caller. Runs on every version from 2.7 on.
require 'tmpdir'

$chains = {}
$num_calls = Hash.new(0)

def get_cpu_time
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end

def make_chain(levels)
  levels.reverse.map { |level| "#{level.label} @#{level.lineno}" }.join(';')
end

# Note who has called the leaf, the first times, and do what takes time.
def use_time(leaf)
  num_calls = $num_calls[leaf] += 1
  $chains[make_chain(caller_locations(1))] = leaf if num_calls <= 30
  x = 0
  i = 0
  while i < 2500
    x = (x * 31 + i) & 0xffff
    i += 1
  end
  x
end

module Loud
  def spoken(*)
    super
    use_time('prepended')
  end
end

class Order
  include Comparable
  include Enumerable
  prepend Loud

  attr_reader :value

  def initialize(value)
    @value = value
    use_time('initialize')
  end

  def self.make(value)
    use_time('singleton')
    new(value)
  end

  def self.const_missing(name)
    use_time('const_missing')
    name
  end

  def <=>(other)
    use_time('compare')
    value <=> other.value
  end

  def each
    use_time('each')
    yield 1
    yield 2
  end

  def spoken(*)
    use_time('super')
  end

  def total(*)
    use_time('total')
  end
  alias sum_of_all total

  def to_s
    use_time('to_s')
    'order'
  end

  def ==(other)
    use_time('equal')
    equal?(other)
  end

  def [](_index)
    use_time('index')
  end

  def -@
    use_time('minus')
  end

  def coerce(_other)
    use_time('coerce')
    [1, 2]
  end

  def call(*)
    use_time('call')
  end

  def hash
    use_time('hash')
  end

  def to_proc
    use_time('to_proc')
    proc { use_time('to_proc_block') }
  end

  def method_missing(name, *arguments)
    name == :absent ? use_time('method_missing') : super
  end

  def respond_to_missing?(name, all = false)
    use_time('respond_to')
    name == :absent || super
  end

  define_method(:defined) { |*| use_time('define_method') }

  private

  def hidden
    use_time('hidden')
  end
end

Pair = Struct.new(:left, :right) do
  def both
    use_time('struct')
    left + right
  end
end

# More than a small index of lines has room for.
Order.class_eval("def long(x)\n#{"x += 1\n" * 9}use_time('long9')\n#{"x += 1\n" * 100}use_time('long')\n#{"x += 1\n" * 600}use_time('longer')\nend",
                 'long.rb', 1)

def call_methods
  order = Order.make(3)
  order.total
  order.sum_of_all(1, 2)
  order.spoken(1)
  order.defined(1)
  order.absent
  order.respond_to?(:absent)
  order.send(:hidden)
  order.public_send(:total, 3)
  order.method(:total).call
  order.method(:total).unbind.bind(order).call
  order.long(1)
  "#{order}"
  order == 3
  [order].include?(4)
  order[2]
  -order
  1 + order
  order.(1)
  order.then { |key| return_hash(key => 1) }
  [1].each(&order)
  Pair.new(1, 2).both
  Order::Missing
  order.define_singleton_method(:own) { use_time('own') }
  order.own
end

def return_hash(hash)
  hash
end

def call_callbacks
  orders = $orders
  [1].each { use_time('block') }
  [1].map { |x| [x].each { use_time('two_blocks') } }
  [2, 1].sort_by { |x| use_time('sort_by') + x }
  [2, 1].sort { |a, b| use_time('sort') - use_time('sort') + a - b }
  orders.sort
  orders.max
  orders[0].clamp(orders[1], orders[2])
  orders[0].map { |x| use_time('enumerable') + x }
  orders[0].each_slice(2) { use_time('slice') }
  orders[0].include?(2)
  orders.map(&:total)
  [1, 2].inject { |a, b| use_time('inject') + a + b }
  [1, 2].each_with_index { |_, i| use_time('with_index') + i }
  [1, 2].each.with_index(1) { use_time('chained') }
  2.times { use_time('times') }
  1.upto(2) { use_time('upto') }
  1.step(3, 2) { use_time('step') }
  { 1 => 2 }.each_pair { use_time('each_pair') }
  Hash.new { use_time('default') }[1]
  'abc'.gsub(/b/) { use_time('gsub').to_s }
  Array.new(2) { use_time('array') }
  [3].tap { use_time('tap') }
  3.then { use_time('then') }
  loop do
    use_time('loop')
    break
  end
  [1].lazy.map { use_time('lazy') }.first(1)
end

def call_procs
  proc { use_time('proc') }.call
  lambda { use_time('lambda') }.()
  ->(x) { use_time('arrow') + x }[1]
  [1].each(&method(:use_argument))
  :total.to_proc.call($orders[0])
  (method(:use_argument) >> ->(x) { use_time('composed') + x }).call(1)
  instance_exec(1) { |x| use_time('instance_exec') + x }
  'text'.instance_eval { use_time('instance_eval') }
  yield_twice { use_time('yielded') }
end

def use_argument(value)
  use_time('argument')
  value
end

def yield_twice
  yield
  yield
end

def recurse(depth)
  return use_time('recursion') if depth.zero?

  recurse(depth - 1)
end

def recurse_in_blocks(depth)
  [1].each { depth.zero? ? use_time('recursion_in_blocks') : recurse_in_blocks(depth - 1) }
end

def fail_deep(depth)
  raise 'expected' if depth.zero?

  fail_deep(depth - 1)
rescue ArgumentError
  use_time('never')
ensure
  use_time('ensure') if depth == 3
end

def call_exceptions
  begin
    fail_deep(5)
  rescue RuntimeError
    use_time('rescue')
  end
  begin
    [1].each { raise 'expected' }
  rescue StandardError => e
    use_time('rescue_of_block')
    e
  else
    use_time('never')
  ensure
    use_time('ensured')
  end
  catch(:done) do
    [1].each do
      use_time('catch')
      throw :done
    end
  end
  use_time('thrown')
  [1].each { return use_time('returned') }
end

def call_texts
  eval("use_time('eval')")
  eval("[1].each { use_time('eval_block') }", binding, 'text.rb', 7)
  'text'.instance_eval("use_time('instance_eval_text')")
  Order.class_eval("def made\n\n use_time('made')\nend", 'made.rb', 3)
  $orders[0].made
  load $loaded
  $LOADED_FEATURES.delete($loaded)
  require $loaded
end

def call_fibers
  fiber = Fiber.new do
    use_time('fiber')
    Fiber.yield
    [1].each { use_time('fiber_resumed') }
  end
  fiber.resume
  fiber.resume
  numbers = Enumerator.new do |yielder|
    use_time('enumerator')
    yielder << 1
    use_time('enumerator_again')
    yielder << 2
  end
  numbers.next
  numbers.next
  $orders[0].to_enum.next
end

def call_threads
  2.times.map { |i| Thread.new { 5.times { use_time("thread#{i}") } } }.each(&:join)
  Thread.new($orders, &:sort).join
  Thread.new { Thread.handle_interrupt(RuntimeError => :never) { use_time('handle_interrupt') } }.value
  Mutex.new.synchronize { use_time('synchronize') }
end

def run(seconds)
  finish = get_cpu_time + seconds
  while get_cpu_time < finish
    use_time('plain')
    call_methods
    call_callbacks
    call_procs
    recurse(60)
    recurse_in_blocks(20)
    call_exceptions
    call_texts
    call_fibers
    call_threads
  end
end

$loaded = "#{Dir.tmpdir}/ruby_chains_loaded.rb"
File.write($loaded, "class Loaded\n  use_time('class')\n  class << self\n    use_time('singleton_class')\n  end\nend\nuse_time('loaded')\n")
$orders = [Order.new(2), Order.new(1), Order.new(3)]
run(ARGV[0].to_f)
File.delete($loaded)
puts $chains.keys.sort
$stdout.flush
# What it has from its parent it need not have looked at.
child = fork do
  $chains.clear
  300.times { use_time('child') }
  puts $chains.keys
end
Process.wait(child)
