package designer_test

import (
	"fmt"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
)

func ExampleApply() {
	bank, _ := memoryskill.SeedBank(memoryskill.DefaultCapacity, true)
	proposal, _ := designer.Decode([]byte(`{"action": "apply_changes", "summary": "dates get lost", "changes": [
		{"action": "refine_existing", "name": "insert", "changes": {"purpose": "Store facts that are missing, with ` +
		`their ` +
		`dates."}},
		{"action": "refine_existing", "name": "delete", "changes": {"purpose": "Read {span} first."}}]}`))

	round, problems := designer.Apply(bank, proposal, designer.Rules{Origin: "round 7"})
	for _, p := range problems {
		fmt.Printf("change %d: %s\n", p.Change, p.Message)
	}
	fmt.Println("changed:", round.Bank.Hash() != bank.Hash())

	proposal.Changes = proposal.Changes[:1]
	round, _ = designer.Apply(bank, proposal, designer.Rules{Origin: "round 7"})
	insert, _ := round.Bank.Get("insert")
	fmt.Println("changed:", round.Bank.Hash() != bank.Hash(), insert.Author, insert.Skill.Purpose)
	// Output:
	// change 1: skill "delete": purpose contains the placeholder "{span}"
	// changed: false
	// changed: true designer Store facts that are missing, with their dates.
}
