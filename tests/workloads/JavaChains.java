import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.IntSupplier;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/**
 * Methods that call each other in the ways that Java has, and say in which: a line for each way, the methods from the outermost to the
 * innermost one, joined by ':', as exceptions see them. They leave out what the JVM hides, lambda forms and classes of lambdas; how
 * reflection calls is left out here. The innermost one begins with "leaf"; what it calls is in no line.
 *
 * usage: java JavaChains SECONDS      of CPU time of the main thread, and some more of others and until methods are compiled
 *
 * Runs on JDK 8 and newer. It is to be compiled with -encoding UTF-8.
 */
public class JavaChains {
	// Few while methods are called often so that they are compiled, and then as many as a sample will fall into.
	static final int WARM_ITERATIONS = 20;
	static final int ITERATIONS = 100_000;

	static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
	static final Set<String> told = ConcurrentHashMap.newKeySet();
	static final int[] calls = new int[80];
	static int iterations = WARM_ITERATIONS;
	static boolean isFirst = true;
	static int sink;
	static Object kept;

	static long cpuTime() {
		return threads.getCurrentThreadCpuTime();
	}

	static boolean isOfReflection(String className) {
		return className.startsWith("java.lang.reflect.") || className.startsWith("jdk.internal.reflect.")
			|| className.startsWith("sun.reflect.");
	}

	static void tell() {
		List<String> names = new ArrayList<>();
		boolean isOfLeaf = false;
		for (StackTraceElement frame : new Throwable().getStackTrace()) {
			isOfLeaf |= frame.getMethodName().startsWith("leaf");
			if (isOfLeaf && !isOfReflection(frame.getClassName())) names.add(frame.getClassName() + "." + frame.getMethodName());
		}
		Collections.reverse(names);
		String chain = String.join(":", names);
		if (told.add(chain)) {
			byte[] line = (chain + "\n").getBytes(StandardCharsets.UTF_8);
			System.out.write(line, 0, line.length);
			System.out.flush();
		}
	}

	/** The chain is looked at in the first rounds, in which all ways are gone, and where threads begin later. */
	static void tellOf(int leaf) {
		if (calls[leaf]++ < 3 || isFirst) tell();
	}

	static int useTime(int leaf) {
		tellOf(leaf);
		int x = leaf;
		for (int i = 0, n = iterations; i < n; i++) x = x * 31 + i;
		sink = x;
		return x;
	}

	// Static calls.
	static int d1() { return d2() + 1; }
	static int d2() { return d3() + 1; }
	static int d3() { return d4() + 1; }
	static int d4() { return leafStatic() + 1; }
	static int leafStatic() { return useTime(0); }

	// Virtual and interface calls: of one class, and of more than call sites remember.
	abstract static class Animal {
		abstract int leafVirtual();
		int callSelf() { return leafVirtual() + 1; }
		int leafInherited() { return useTime(1); }
	}
	static class Cat extends Animal {
		int leafVirtual() { return useTime(2); }
	}
	static class Dog extends Animal {
		int leafVirtual() { return useTime(3); }
		int leafInherited() { return super.leafInherited() + 1; }
	}
	static class Bird extends Animal {
		int leafVirtual() { return useTime(4); }
	}
	static class Fish extends Animal {
		int leafVirtual() { return useTime(5); }
	}
	interface Named {
		int leafInterface();
		default int callDefault() { return callOther() + 1; }
		default int callOther() { return leafInterface() + 1; }
		static int leafStaticOfInterface() { return useTime(6); }
	}
	static class First implements Named {
		public int leafInterface() { return useTime(7); }
	}
	static class Second implements Named {
		public int leafInterface() { return useTime(8); }
	}
	static class Third implements Named {
		public int leafInterface() { return useTime(9); }
		public int callDefault() { return Named.super.callDefault() + 1; }
	}
	static final Animal[] animals = { new Cat(), new Dog(), new Bird(), new Fish() };
	static final Named[] named = { new First(), new Second(), new Third() };
	static int chainVirtual(Animal animal) { return animal.leafVirtual() + 1; }
	static int chainOfOneClass(Cat cat) { return cat.leafInherited() + 1; }
	static int chainInterface(Named object) { return object.leafInterface() + 1; }

	// What the compiler adds: a compareTo(Object) that calls the other one.
	static class Box implements Comparable<Box> {
		public int compareTo(Box other) { return leafBridged(); }
		int leafBridged() { return useTime(10) | 1; }
	}
	@SuppressWarnings("unchecked")
	static int chainBridge(Comparable<?> box) { return ((Comparable<Object>) box).compareTo(box); }

	enum Operation {
		PLUS { int apply() { return leafOfConstant(); } },
		MINUS { int apply() { return leafOfConstant() + 1; } };
		abstract int apply();
		int leafOfConstant() { return useTime(11); }
	}

	// Lambdas.
	static int chainLambda() {
		IntSupplier supplier = () -> leafLambda();
		return supplier.getAsInt();
	}
	static int leafLambda() { return useTime(12); }
	static int chainCapture(int a, Object b) {
		IntSupplier supplier = () -> leafCapture(a, b);
		return supplier.getAsInt();
	}
	static int leafCapture(int a, Object b) { return useTime(13) + a; }
	static int chainReference() {
		IntSupplier supplier = JavaChains::leafReference;
		return supplier.getAsInt();
	}
	static int leafReference() { return useTime(14); }
	static int chainNestedLambda() {
		IntSupplier supplier = () -> {
			IntSupplier inner = () -> leafNestedLambda();
			return inner.getAsInt();
		};
		return supplier.getAsInt();
	}
	static int leafNestedLambda() { return useTime(15); }

	// Classes: constructors, initialisers, and classes within others.
	static class Base {
		Base() { leafInConstructor(); }
		int leafInConstructor() { return useTime(16); }
	}
	static class Derived extends Base {
		final int value = leafOfField();
		Derived() { super(); }
		int leafOfField() { return useTime(17); }
	}
	static Object chainNew() { return new Derived(); }
	static class Initialised {
		static int value;
		static {
			long end = cpuTime() + 60_000_000;
			do value += leafInInitialiser(); while (cpuTime() < end);
		}
		static int leafInInitialiser() { return useTime(18); }
	}
	static int chainInitialiser() { return Initialised.value; }
	class Inner {
		int leafInner() { return useTime(19) + outer; }
	}
	final int outer = 1;
	int chainInner() { return new Inner().leafInner(); }
	static int chainAnonymous() {
		return new Object() {
			int call() { return leafAnonymous(); }
			int leafAnonymous() { return useTime(20); }
		}.call();
	}
	static int chainLocal() {
		class Local {
			int leafLocal() { return useTime(21); }
		}
		return new Local().leafLocal();
	}

	static int recurse(int depth) { return depth > 0 ? recurse(depth - 1) + 1 : leafRecursion(); }
	static int leafRecursion() { return useTime(22); }
	static boolean isEven(int n) { return n == 0 ? leafMutual() != 1 : isOdd(n - 1); }
	static boolean isOdd(int n) { return n != 0 && isEven(n - 1); }
	static int leafMutual() { return useTime(23); }

	// Exceptions.
	static int fail(int depth) {
		if (depth == 0) throw new IllegalStateException("expected");
		try {
			return fail(depth - 1) + 1;
		} finally {
			if (depth == 3) leafUnwinding();
		}
	}
	static int leafUnwinding() { return useTime(24); }
	static int chainCatch() {
		try {
			return fail(5);
		} catch (IllegalStateException error) {
			return leafCatch();
		} finally {
			leafFinally();
		}
	}
	static int leafCatch() { return useTime(25); }
	static int leafFinally() { return useTime(26); }
	static int chainNull(Animal none) {
		try {
			return none.callSelf();
		} catch (NullPointerException error) {
			return leafAfterNull();
		}
	}
	static int leafAfterNull() { return useTime(27); }

	// Monitors.
	static synchronized int chainSynchronized() { return leafSynchronized(); }
	static synchronized int leafSynchronized() { return useTime(28); }
	synchronized int chainMonitor() {
		synchronized (told) {
			return leafMonitor();
		}
	}
	synchronized int leafMonitor() { return useTime(29); }

	// More arguments than there are registers for.
	static int chainMany(int n) {
		return leafMany(n, 2, 3, 4, 5, 6, 7, 8, 9, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0);
	}
	static int leafMany(long a, long b, long c, long d, long e, long f, long g, long h, long i, double j, double k, double l, double m,
			double n, double o, double p, double q, double r, double s) {
		return useTime(30) + (int) (a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s);
	}

	// Names beyond ASCII, and beyond what two bytes hold.
	static int chainÜbung() { return leafÜbung_доступ() + leaf𝒳(); }
	static int leafÜbung_доступ() { return useTime(31); }
	static int leaf𝒳() { return useTime(32); }

	// Called back by the JDK.
	static int leafCompare(Integer a, Integer b) { return useTime(33) == 1 ? 1 : a.compareTo(b); }
	static int leafOfTree(String a, String b) { return useTime(34) == 1 ? 1 : a.compareTo(b); }
	static int leafOfMap(String key) { return useTime(35); }
	static int leafOfStream(int x) { return useTime(36); }
	static boolean leafOfFilter(int x) { return useTime(57) != 1; }
	static int leafOfNumbers(int x) { return useTime(58); }
	static int leafForEach(int x) { return useTime(37); }
	static boolean leafRemoveIf(int x) { return useTime(38) == 1; }
	static int leafOfPattern() { return useTime(39); }
	static final Pattern pattern = Pattern.compile("x");
	static int chainSort() {
		Integer[] numbers = { 2, 1 };
		Arrays.sort(numbers, JavaChains::leafCompare);
		return numbers[0];
	}
	static Object chainTree() {
		TreeMap<String, String> map = new TreeMap<>(JavaChains::leafOfTree);
		map.put("a", "b");
		return map;
	}
	static int chainMap() { return new HashMap<String, Integer>().computeIfAbsent("a", JavaChains::leafOfMap); }
	static int chainStream() {
		return Arrays.asList(1, 2).stream().map(x -> leafOfStream(x)).filter(x -> leafOfFilter(x)).mapToInt(x -> leafOfNumbers(x)).sum();
	}
	static void chainForEach() { new ArrayList<>(Arrays.asList(1)).forEach(JavaChains::leafForEach); }
	static void chainRemoveIf() { new ArrayList<>(Arrays.asList(1)).removeIf(JavaChains::leafRemoveIf); }
	static int chainPattern() { return pattern.splitAsStream("axb").mapToInt(part -> leafOfPattern()).sum(); }
	static Object chainOptional() { return Optional.of(1).map(x -> leafOfOptional()); }
	static int leafOfOptional() { return useTime(40); }

	// Reflection, method handles and proxies.
	static final Method method;
	static final Constructor<?> constructor;
	static final MethodHandle handle;
	static final Runnable proxy;
	static Method startVirtualThread;
	static {
		try {
			method = JavaChains.class.getDeclaredMethod("leafReflection");
			constructor = Reflected.class.getDeclaredConstructor();
			handle = MethodHandles.lookup().findStatic(JavaChains.class, "leafHandle", MethodType.methodType(int.class));
		} catch (ReflectiveOperationException error) {
			throw new AssertionError(error);
		}
		proxy = (Runnable) Proxy.newProxyInstance(JavaChains.class.getClassLoader(), new Class<?>[] { Runnable.class },
			(object, called, arguments) -> {
				leafProxy();
				return null;
			});
		try {
			startVirtualThread = Thread.class.getMethod("startVirtualThread", Runnable.class);
		} catch (NoSuchMethodException error) {
			startVirtualThread = null; // before JDK 19
		}
	}
	static class Reflected {
		Reflected() { leafOfReflected(); }
		int leafOfReflected() { return useTime(41); }
	}
	static int leafReflection() { return useTime(42); }
	static int leafHandle() { return useTime(43); }
	static int leafProxy() { return useTime(44); }
	static Object chainReflection() throws ReflectiveOperationException { return method.invoke(null); }
	static Object chainReflectedNew() throws ReflectiveOperationException { return constructor.newInstance(); }
	static int chainHandle() throws Throwable { return (int) handle.invokeExact(); }
	static void chainProxy() { proxy.run(); }

	// Busy in what is not compiled from Java: the JVM's routines, and native methods.
	static final byte[] from = new byte[4 * ITERATIONS];
	static final byte[] to = new byte[4 * ITERATIONS];
	static final CRC32 crc = new CRC32();
	static final Deflater deflater = new Deflater(1);
	static int chainRoutines() { return leafCopy() + leafMath() + leafClock() + leafChecksum() + leafAllocate() + leafBig(); }
	static int leafCopy() {
		tellOf(45);
		for (int i = 0; i < 40; i++) System.arraycopy(from, 0, to, 0, 4 * iterations);
		return to[0];
	}
	static int leafMath() {
		tellOf(46);
		double sum = 0;
		for (int i = 0, n = iterations / 10; i < n; i++) sum += Math.sin(i) + Math.pow(i, 0.3) + Math.log(i + 1);
		sink = (int) sum;
		return sink;
	}
	static int leafClock() {
		tellOf(47);
		long sum = 0;
		for (int i = 0, n = iterations / 8; i < n; i++) sum += System.nanoTime();
		sink = (int) sum;
		return sink;
	}
	static int leafChecksum() {
		tellOf(48);
		for (int i = 0; i < 40; i++) crc.update(from, 0, 4 * iterations);
		sink = (int) crc.getValue();
		return sink;
	}
	static int leafAllocate() {
		tellOf(49);
		for (int i = 0, n = iterations / 10; i < n; i++) kept = new byte[64 + i % 64];
		return 1;
	}
	static final BigInteger big = BigInteger.ONE.shiftLeft(1800).subtract(BigInteger.ONE);
	static int leafBig() {
		tellOf(50);
		int sum = 0;
		for (int i = 0, n = iterations / 1000; i < n; i++) sum += big.multiply(big).hashCode();
		sink = sum;
		return sum;
	}
	static int chainNative() { return leafDeflate(); }
	static int leafDeflate() {
		tellOf(51);
		deflater.reset();
		deflater.setInput(from, 0, iterations);
		deflater.finish();
		return deflater.deflate(to);
	}

	// A loop that is compiled while it runs.
	static int chainLoop() { return leafLoop(); }
	static int leafLoop() {
		tellOf(52);
		int x = 1;
		for (int i = 0; i < 4; i++)
			for (int j = 0, n = iterations / 2; j < n; j++) x = x * 31 + (j ^ i);
		sink = x;
		return x;
	}

	// Threads.
	static class Worker extends Thread {
		final long nanoseconds;
		Worker(long nanoseconds) { this.nanoseconds = nanoseconds; }
		@Override public void run() {
			while (cpuTime() < nanoseconds) leafOfWorker();
		}
		int leafOfWorker() { return useTime(53); }
	}
	static void runThread(long nanoseconds) {
		while (cpuTime() < nanoseconds) leafOfThread();
	}
	static int leafOfThread() { return useTime(54); }
	static final ExecutorService executor = Executors.newSingleThreadExecutor();
	static int leafOfTask() { return useTime(55); }
	static int leafOfVirtualThread() { return useTime(56); }
	static void chainVirtualThread() throws Exception {
		if (startVirtualThread == null) return;
		Runnable run = () -> leafOfVirtualThread();
		try {
			((Thread) startVirtualThread.invoke(null, run)).join();
		} catch (InvocationTargetException error) {
			startVirtualThread = null; // a preview feature that is off
		}
	}

	static void runAll(int round) throws Throwable {
		JavaChains chains = new JavaChains();
		d1();
		for (Animal animal : animals) chainVirtual(animal);
		for (Animal animal : animals) animal.callSelf();
		animals[1].leafInherited();
		chainOfOneClass((Cat) animals[0]);
		for (Named object : named) chainInterface(object);
		for (Named object : named) object.callDefault();
		Named.leafStaticOfInterface();
		chainBridge(new Box());
		Operation.PLUS.apply();
		Operation.MINUS.apply();
		chainLambda();
		chainCapture(round, chains);
		chainReference();
		chainNestedLambda();
		chainNew();
		chains.chainInner();
		chainAnonymous();
		chainLocal();
		recurse(50);
		isEven(20);
		chainCatch();
		chainNull(null);
		chainSynchronized();
		chains.chainMonitor();
		chainMany(round);
		chainÜbung();
		chainSort();
		chainTree();
		chainMap();
		chainStream();
		chainForEach();
		chainRemoveIf();
		chainPattern();
		chainOptional();
		chainReflection();
		chainReflectedNew();
		chainHandle();
		chainProxy();
		chainRoutines();
		chainNative();
		chainLoop();
		// Other threads have to be woken for these.
		if (iterations != WARM_ITERATIONS || round % 16 == 0) {
			executor.submit(() -> leafOfTask()).get();
			chainVirtualThread();
		}
	}

	public static void main(String[] arguments) throws Throwable {
		long nanoseconds = (long) (1e9 * Double.parseDouble(arguments[0]));
		long end = cpuTime() + nanoseconds / 4;
		int round = 0;
		while (round < 3) runAll(round++);
		isFirst = false;
		while (round < 20_000 && cpuTime() < end) runAll(round++);
		iterations = ITERATIONS;
		Thread worker = new Worker(nanoseconds / 8);
		Thread thread = new Thread(() -> runThread(nanoseconds / 8));
		worker.start();
		thread.start();
		end = cpuTime() + nanoseconds;
		chainInitialiser();
		do runAll(round++); while (cpuTime() < end);
		worker.join();
		thread.join();
		executor.shutdown();
	}
}
