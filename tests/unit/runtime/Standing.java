/* A program that has compiled code, says so, and stands still until its input ends. */
public class Standing {
	static int step(int value) {
		return value * 31 + 7;
	}

	static int count(int times) {
		int sum = 0;

		for (int i = 0; i < times; i++)
			sum = step(sum);
		return sum;
	}

	public static void main(String[] arguments) throws Exception {
		int sum = 0;

		for (int i = 0; i < 20000; i++)
			sum += count(100);
		System.out.println("standing " + sum);
		System.in.read();
	}
}
