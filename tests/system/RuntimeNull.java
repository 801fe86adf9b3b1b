// SPDX-License-Identifier: BSD-2-Clause
//
// Compiled Java finds a null pointer by the fault that it makes. It goes on doing so when the
// adapter, opened through JNI, has put its handler of SIGSEGV in front of the virtual machine's.

public class RuntimeNull {
	static native int open();

	int value;

	static int get(RuntimeNull n) {
		return n.value;
	}

	public static void main(String[] args) {
		RuntimeNull some = new RuntimeNull();
		int caught = 0;
		long sum = 0;

		System.load(args[0]);
		if (open() != 0)
			System.exit(2);
		for (int i = 0; i < 2000000; i++) // until get() is compiled
			sum += get(some);
		for (int i = 0; i < 1000; i++)
			try {
				sum += get(null);
			} catch (NullPointerException e) {
				caught++;
			}
		if (caught != 1000 || sum != 0)
			System.exit(3);
		System.out.println("ok");
	}
}
