// Package memoryskill is what a memory skill is, and the bank that holds them. A
// memory skill tells the rememberer how to turn a span of a conversation into
// memories; which ones a span meets is learnt (controller), and what they say
// evolves (designer). The package touches nothing outside itself.
//
// A bank begins with four primitives and is a value; every change makes another:
//
//	bank, err := memskill.SeedBank(memskill.DefaultCapacity, true)
//	skill, err := memskill.Parse(markdown)
//	bank, err = bank.Add(skill, memskill.Human, "import")
//	fresh := memskill.Fresh(memskill.Differences(before, bank), false)
//
// A bank is trained together with a policy and its optimiser. A snapshot binds
// the three by their hashes, so that they are promoted and rolled back as one:
//
//	snapshot := memskill.Bind(bank, policy, optimiser)
//	err := snapshot.Verify(bank, policy, optimiser)
package memoryskill
