package offline

import (
	"fmt"
	"slices"
	"testing"

	"cairn/internal/prompt"
)

func TestProbeGrow(t *testing.T) {
	*all = true
	store := map[string]*prompt.Candidate{}
	var order []string
	creates, updates, unchanged := 0, 0, 0
	for _, m := range tau(t) {
		m.Candidates = nil
		for i, n := range order {
			c := *store[n]
			c.Handle = fmt.Sprint("S", i+1)
			m.Candidates = append(m.Candidates, c)
		}
		got := ask(t, prompt.Extract, m)
		or := func(v any, old []string) []string {
			if s := strs(v); len(s) > 0 {
				return s
			}
			return old
		}
		switch got["action"] {
		case "create":
			creates++
			n := got["name"].(string)
			order = append(order, n)
			store[n] = &prompt.Candidate{Name: n, Description: got["description"].(string), Trigger: strs(got["trigger"]), Procedure: got["procedure"].(string), Experience: strs(got["experience"])}
		case "update":
			updates++
			i := slices.Index(order, got["name"].(string))
			c := store[order[i]]
			c.Trigger, c.Experience = or(got["trigger"], c.Trigger), or(got["experience"], c.Experience)
			if p := got["procedure"].(string); p != "" {
				c.Procedure = p
			} else {
				unchanged++
			}
		}
	}
	fmt.Println(creates, updates, unchanged, order)
	for _, n := range []string{"cancel-reservation", "update-reservation-flights"} {
		fmt.Printf("%s\n%s\n%v\n%d\n", store[n].Description, store[n].Procedure, store[n].Trigger, len(store[n].Experience))
		for _, e := range store[n].Experience {
			fmt.Println(" *", e)
		}
	}
}
