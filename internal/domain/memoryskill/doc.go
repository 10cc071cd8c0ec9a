// Package memoryskill defines memory skills and the banks that hold them. A memory skill is an
// instruction for extracting memories from a span of a conversation. Package policy learns which
// skills a span needs, and package designer proposes changes of a bank.
//
// A new bank has ten skills: four primitives, one for each action, and six for kinds of facts. A
// bank is a value: every change returns another bank.
//
//	bank, err := memoryskill.ShippedBank(memoryskill.DefaultCapacity)
//	skill, err := memoryskill.Parse(markdown)
//	bank, err = bank.Add(skill, memoryskill.Human, "import")
//	fresh := memoryskill.Fresh(memoryskill.Differences(before, bank), false)
//
// A bank is trained together with a policy and its optimizer. A snapshot binds the three by their
// hashes, so that they are promoted and rolled back together:
//
//	snapshot := memoryskill.Bind(bank, policy, optimizer)
//	err := snapshot.Verify(bank, policy, optimizer)
package memoryskill
