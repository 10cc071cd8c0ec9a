package agent_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"cairn/internal/domain/agent"
)

func TestAPoolGrantsWhatItHas(t *testing.T) {
	t.Parallel()
	p := agent.NewPool(10)
	for i, want := range []int{8, 8, 8, 6, 0} {
		granted, ok := p.Reserve(8, 20)
		if granted != want || ok != (want > 0) {
			t.Errorf("child %d: %d, %t, want %d", i, granted, ok, want)
		}
	}
	p.Return(5)
	if granted, ok := p.Reserve(8, 3); granted != 3 || !ok || p.Left() != 2 {
		t.Errorf("%d, %t, %d left", granted, ok, p.Left())
	}
	if granted, ok := p.Reserve(8, 0); granted != 2 || !ok {
		t.Errorf("no wish: %d, %t", granted, ok)
	}
}

func TestAPoolRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]int{{8, -1}, {-1, 8}, {0, 8}, {0, 0}} {
		p := agent.NewPool(10)
		if granted, ok := p.Reserve(c[0], c[1]); granted != 0 || ok || p.Left() != 30 {
			t.Errorf("reserve %v: %d, %t, %d left", c, granted, ok, p.Left())
		}
	}
	p := agent.NewPool(10)
	p.Return(5)
	p.Return(-5)
	if p.Left() != 30 {
		t.Errorf("%d left of 30", p.Left())
	}
}

func TestSubAgentsStandTwoDeepAtMost(t *testing.T) {
	t.Parallel()
	root := agent.NewPool(10)
	child, ok := root.Lend(12)
	if !ok || root.Left() != 18 {
		t.Fatalf("lend: %t, %d left", ok, root.Left())
	}
	if granted, ok := child.Reserve(8, 8); granted != 8 || !ok {
		t.Errorf("grandchild: %d, %t", granted, ok)
	}
	if _, ok := child.Lend(2); ok || child.Left() != 4 {
		t.Errorf("a grandchild may delegate: %t, %d left", ok, child.Left())
	}
	deep := agent.SubagentBudget{Cap: 10, Depth: 2}
	if _, ok := deep.Reserve(1, 1); ok {
		t.Error("a third generation")
	}
	root.Return(child.Left())
	if root.Left() != 22 {
		t.Errorf("%d left", root.Left())
	}
}

// Three children of eight units under a cap of thirty, repeatedly: the total never exceeds the cap.
// When all have ended, only the used units are gone.
func TestATreeOfSubAgentsStaysUnderItsCap(t *testing.T) {
	t.Parallel()
	const parentMax, limit, childCap = 10, 30, 8
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := agent.NewPool(parentMax)
		asked := 0
		for {
			var grants []int
			for range 3 {
				if granted, ok := p.Reserve(childCap, r.IntN(12)); ok {
					grants = append(grants, granted)
				}
			}
			if len(grants) == 0 {
				break
			}
			reserved := 0
			for _, granted := range grants {
				reserved += granted
				if granted > childCap {
					t.Fatalf("seed %d: granted %d", seed, granted)
				}
			}
			if asked+reserved > limit {
				t.Fatalf("seed %d: %d asked and %d reserved of %d", seed, asked, reserved, limit)
			}
			p = restored(t, p)
			for _, granted := range grants {
				run := drive(t, agent.ForChild(granted, time.Minute), randomWorld(r, true))
				used := run.states[len(run.states)-1].Budget.Used
				if used != len(run.steps()) {
					t.Fatalf("seed %d: %d used, %d asked", seed, used, len(run.steps()))
				}
				asked += used
				p.Return(granted - used)
			}
			if p.Left() != limit-asked {
				t.Fatalf("seed %d: %d left, %d asked", seed, p.Left(), asked)
			}
		}
		if asked != limit {
			t.Fatalf("seed %d: stopped after %d of %d", seed, asked, limit)
		}
	}
}

func restored(t *testing.T, p agent.SubagentBudget) agent.SubagentBudget {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back agent.SubagentBudget
	if err := json.Unmarshal(text, &back); err != nil || back != p {
		t.Fatalf("%s: %+v, %v", text, back, err)
	}
	return back
}
