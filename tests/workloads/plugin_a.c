/* Plugin of dlopens: same shape as plugin_b, so that it is likely mapped at the same address. */
#include "spin.h"

void plugin_a_burn(void);

void plugin_a_burn(void)
{
	spin_cpu_ns(100 * NS_PER_MS);
}
