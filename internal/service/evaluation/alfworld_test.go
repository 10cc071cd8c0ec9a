package evaluation

import (
	"strings"
	"testing"
)

const file = `[{"id":"g1","task_type":"place","task":"put a mug on the desk","observation":"A ` +
	`room.","steps":[{"action":"go to desk 1","observation":"A desk."},{"action":"put ` +
	`mug","observation":"Done."}],"success":true},
{"id":"g1","task_type":"heat","task":"heat an egg","observation":"A ` +
	`kitchen.","steps":[{"action":"look","observation":"Nothing."}],"success":false}]`

func TestTrajectoriesAreReadRatedAndPacked(t *testing.T) {
	t.Parallel()
	all, err := ReadAlfworld(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if rate, steps := SuccessRate(all); rate != .5 || steps != 1.5 {
		t.Errorf("%v, %v", rate, steps)
	}
	if text := all[0].Text(); !strings.HasPrefix(text,
		"Task: put a mug on the desk\nObservation: A room.\nAction: go to desk 1\n") ||
		!strings.HasSuffix(text, "Success: true\n") {
		t.Errorf("%q", text)
	}
	if packs := Pack(all, 1000); len(packs) != 1 {
		t.Errorf("%d packs with room for both", len(packs))
	}
	if packs := Pack(all, 5); len(packs) != 2 || packs[0] != all[0].Text() {
		t.Errorf("%q: cut, or packed beyond its room", packs)
	}
}

func TestUnknownSuccessIsNoFailure(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{`,"success":false|`: "trajectory 2 has no success",
		`"heat"|"place"`: "duplicate trajectory", `"A room."|""`: "trajectory 1 has"} {
		from, to, _ := strings.Cut(change, "|")
		if _, err := ReadAlfworld(strings.NewReader(strings.Replace(file, from, to, 1))); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", change, err)
		}
	}
}

func TestACommandIsNotTakenForOneThatItBegins(t *testing.T) {
	t.Parallel()
	can := []string{"open drawer 1", "open drawer 10", "look"}
	for reply, want := range map[string]string{"open drawer 10": "open drawer 10",
		"I will open drawer 10.": "open drawer 10", "Open Drawer 1, then look": "open drawer 1", "dance": ""} {
		if got := Choose(reply, can); got != want {
			t.Errorf("%q: %q, want %q", reply, got, want)
		}
	}
}
