/*
 * Debug information in which each address takes a second: 20 million blocks in one function, a byte
 * each. endless_debug_info ROUNDS (of 4000 instructions)
 */
#include <stdlib.h>

void burn(void);

asm(".section .debug_abbrev,\"\",@progbits\n"
    ".Labbreviations:\n"
    "	.byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0\n" /* compile unit: low_pc, high_pc */
    "	.byte 2, 0x2e, 1, 0x11, 1, 0x12, 7, 0, 0\n" /* subprogram: the same */
    "	.byte 3, 0x0b, 0, 0, 0, 0\n"                /* lexical block: nothing */
    "	.section .debug_info,\"\",@progbits\n"
    "	.long .Lend - .Lbegin\n"
    ".Lbegin:\n"
    "	.short 4\n"
    "	.long .Labbreviations\n"
    "	.byte 8\n"
    "	.byte 1\n"
    "	.quad burn, burn_end - burn\n"
    "	.byte 2\n"
    "	.quad burn, burn_end - burn\n"
    "	.fill 20000000, 1, 3\n"
    "	.byte 0, 0\n"
    ".Lend:\n"
    "	.text\n");

asm(".globl burn\n"
    "	.type burn, @function\n"
    "burn:\n"
    "	.cfi_startproc\n"
    "	.rept 4000\n"
    "	nop\n"
    "	.endr\n"
    "	ret\n"
    "	.cfi_endproc\n"
    "	.size burn, . - burn\n"
    "burn_end:\n");

int main(int argc, char **argv)
{
	for (long rounds = argc > 1 ? atol(argv[1]) : 1; rounds > 0; rounds--)
		burn();
	return 0;
}
