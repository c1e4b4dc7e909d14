// SPDX-License-Identifier: GPL-2.0
/*
 * A PCI root bus in software, with functions that NVIDIA's driver takes for
 * cards: configuration space in an array, BARs in memory that the kernel was
 * told nothing of, the few registers that the driver's probe reads.
 *
 * Numbers of the registers: open-gpu-kernel-modules 535.261.03,
 * src/common/inc/swref/published/hopper/gh100/dev_boot.h (PMC_BOOT_0, _1, _42).
 */
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/pci.h>

#include "nocard.h"

#define CONFIG_BYTES  256
#define SUBSYSTEM     0x16c1
#define CAP_PM        0x60
#define CAP_MSI       0x68
#define CAP_EXP       0x78
#define REGS_BAR      0
#define REGS_BYTES    (16 << 20)
#define BAR1_BYTES    (64 << 20)
#define BAR3_BYTES    (32 << 20)
#define BOOT_0        0x000
#define BOOT_1        0x004
#define BOOT_42       0xa00
#define GH100_BOOT_0  0x180000a1
#define GH100_BOOT_42 0x180000a0

struct function {
	u8 space[CONFIG_BYTES];
	u8 writable[CONFIG_BYTES]; /* mask */
};

static struct function functions[NC_CARDS_MAX];
static struct pci_bus *bus;
static struct pci_sysdata sysdata = { .domain = 0, .node = NUMA_NO_NODE };
static struct resource window = { .name = "nocard", .flags = IORESOURCE_MEM };
static struct resource numbers = {
	.name = "nocard bus", .start = NC_BUS, .end = NC_BUS, .flags = IORESOURCE_BUS
};

static void put(struct function *f, unsigned int at, unsigned int bytes, u32 value, u32 mask)
{
	unsigned int i;

	for (i = 0; i < bytes; i++) {
		f->space[at + i] = value >> (8 * i);
		f->writable[at + i] = mask >> (8 * i);
	}
}

static void put_bar(struct function *f, unsigned int index, u32 bytes, u32 kind)
{
	put(f, PCI_BASE_ADDRESS_0 + 4 * index, 4, kind, ~(bytes - 1));
	if (kind & PCI_BASE_ADDRESS_MEM_TYPE_64)
		put(f, PCI_BASE_ADDRESS_0 + 4 * (index + 1), 4, 0, ~0);
}

static void fill(struct function *f)
{
	const u32 wide = PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH;

	put(f, PCI_VENDOR_ID, 2, NC_VENDOR, 0);
	put(f, PCI_DEVICE_ID, 2, NC_DEVICE, 0);
	put(f, PCI_COMMAND, 2, 0, 0x0546);
	put(f, PCI_STATUS, 2, PCI_STATUS_CAP_LIST, 0);
	put(f, PCI_CLASS_REVISION, 4, (0x030200 << 8) | 0xa1, 0);
	put_bar(f, 0, REGS_BYTES, 0);
	put_bar(f, 1, BAR1_BYTES, wide);
	put_bar(f, 3, BAR3_BYTES, wide);
	put(f, PCI_SUBSYSTEM_VENDOR_ID, 2, NC_VENDOR, 0);
	put(f, PCI_SUBSYSTEM_ID, 2, SUBSYSTEM, 0);
	put(f, PCI_CAPABILITY_LIST, 1, CAP_PM, 0);
	put(f, PCI_INTERRUPT_LINE, 1, 11, 0xff);
	put(f, PCI_INTERRUPT_PIN, 1, 1, 0);
	put(f, CAP_PM, 4, PCI_CAP_ID_PM | (CAP_MSI << 8) | (3 << 16), 0);
	put(f, CAP_PM + PCI_PM_CTRL, 4, 0, 3);
	put(f, CAP_MSI, 4, PCI_CAP_ID_MSI | (CAP_EXP << 8) | (PCI_MSI_FLAGS_64BIT << 16),
	    PCI_MSI_FLAGS_ENABLE << 16);
	put(f, CAP_MSI + 4, 4, 0, ~0);
	put(f, CAP_MSI + 8, 4, 0, ~0);
	put(f, CAP_MSI + 12, 4, 0, 0xffff);
	/* version 2, endpoint */
	put(f, CAP_EXP, 4, PCI_CAP_ID_EXP | (2 << 16), 0);
}

static struct function *function_at(struct pci_bus *where, unsigned int devfn)
{
	unsigned int slot = PCI_SLOT(devfn);

	if (where->number != NC_BUS || PCI_FUNC(devfn) || slot >= nc_cards)
		return NULL;
	return &functions[slot];
}

static int config_read(struct pci_bus *where, unsigned int devfn, int at, int bytes, u32 *value)
{
	struct function *f = function_at(where, devfn);

	*value = 0;
	if (!f)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (at + bytes <= CONFIG_BYTES) /* nothing in extended space */
		memcpy(value, f->space + at, bytes);
	return PCIBIOS_SUCCESSFUL;
}

static int config_write(struct pci_bus *where, unsigned int devfn, int at, int bytes, u32 value)
{
	struct function *f = function_at(where, devfn);
	int i;

	if (!f)
		return PCIBIOS_DEVICE_NOT_FOUND;
	for (i = 0; i < bytes && at + i < CONFIG_BYTES; i++) {
		u8 mask = f->writable[at + i];

		f->space[at + i] = (f->space[at + i] & ~mask) | ((value >> (8 * i)) & mask);
	}
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops operations = { .read = config_read, .write = config_write };

static int set_registers(struct pci_dev *dev)
{
	void __iomem *regs = ioremap(pci_resource_start(dev, REGS_BAR), REGS_BYTES);

	if (!regs)
		return -ENOMEM;
	memset_io(regs, 0, REGS_BYTES);
	writel(GH100_BOOT_0, regs + BOOT_0);
	writel(0, regs + BOOT_1);
	writel(GH100_BOOT_42, regs + BOOT_42);
	iounmap(regs);
	return 0;
}

static void remove_bus(void)
{
	pci_lock_rescan_remove();
	pci_stop_root_bus(bus);
	pci_remove_root_bus(bus);
	pci_unlock_rescan_remove();
	remove_resource(&window);
}

int nc_bus_init(u64 start)
{
	LIST_HEAD(resources);
	struct pci_dev *dev;
	unsigned int i;
	int err;

	for (i = 0; i < nc_cards; i++)
		fill(&functions[i]);
	window.start = start;
	window.end = start + nc_cards * NC_WINDOW_BYTES - 1;
	err = insert_resource(&iomem_resource, &window);
	if (err)
		return err;
	pci_add_resource(&resources, &window);
	pci_add_resource(&resources, &numbers);
	bus = pci_scan_root_bus(NULL, NC_BUS, &operations, &sysdata, &resources);
	if (!bus) {
		pci_free_resource_list(&resources);
		remove_resource(&window);
		return -ENODEV;
	}
	pci_assign_unassigned_bus_resources(bus);
	list_for_each_entry(dev, &bus->devices, bus_list) {
		err = set_registers(dev);
		if (err) {
			remove_bus();
			return err;
		}
	}
	pci_bus_add_devices(bus);
	return 0;
}

void nc_bus_exit(void)
{
	remove_bus();
}
