import java.util.function.IntUnaryOperator;

/** A program of which compilers inline methods into others, says so, and stands still until its input ends. */
public class Inlined {
	static int sink;
	static Object kept;

	static int leaf(int n) {
		int x = n;
		for (int i = 0; i < 20; i++)
			x = x * 31 + i;
		if ((x & 0xff) == 7)
			kept = new int[x & 7];
		return x;
	}

	static int third(int n) {
		return leaf(n)
			+ leaf(n + 1);
	}

	static int second(int n) {
		return third(n) + 1;
	}

	static int runStatic(int times) {
		int sum = 0;
		for (int i = 0; i < times; i++)
			sum += second(i);
		return sum;
	}

	interface Shape {
		int area(int n);
	}

	static class Square implements Shape {
		public int area(int n) {
			return leaf(n) * n;
		}
	}

	static class Circle implements Shape {
		final int scale;

		Circle(int scale) {
			this.scale = scale;
			kept = this;
		}

		public synchronized int area(int n) {
			return third(n) * scale;
		}
	}

	static int runInterface(int n) {
		Shape shape = (n & 1) == 0 ? new Square() : new Circle(n);
		return shape.area(n);
	}

	static int fail(int n) {
		if (n % 7 == 0)
			throw new IllegalStateException();
		return leaf(n);
	}

	static int runException(int n) {
		try {
			return fail(n) + n / (n & 3);
		} catch (IllegalStateException error) {
			return second(n);
		} catch (ArithmeticException error) {
			return 1;
		}
	}

	static int runLambda(int n) {
		IntUnaryOperator twice = x -> leaf(x) + n;
		return twice.andThen(x -> x + 1).applyAsInt(n);
	}

	static int runText(int n) {
		return new StringBuilder().append(n).append(':').append(n * 3).toString().hashCode();
	}

	public static void main(String[] arguments) throws Exception {
		for (int i = 0; i < 20000; i++) {
			sink += runStatic(5);
			sink += runInterface(i);
			sink += runException(i);
			sink += runLambda(i);
			sink += runText(i);
		}
		System.out.println("standing");
		System.in.read();
	}
}
