package memoryrules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
)

// The limit keeps these rules small. The files annotate_*.go are within the limit of package offlinemodel.
func TestPackageStaysWithinItsBudget(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "annotate_") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
	}
	if lines == 0 || lines > 1300 || len(Answers) > 14 {
		t.Errorf("%d lines of code and %d answerers, budget 1300 and 14", lines, len(Answers))
	}
}

func span(lines ...string) (out []prompt.Message) {
	for i, line := range lines {
		name, text, _ := strings.Cut(line, "|")
		out = append(out, prompt.Message{Index: i, Role: "user", Name: name, Content: "[2023-05-08 13:56] " + text})
	}
	return out
}

func inserting(change func(*prompt.MemorySkill)) prompt.MemorySkill {
	s := prompt.MemorySkill{Name: "insert", Action: "insert",
		Description: "Adds lasting facts that the store does not hold yet.", Purpose: "Keep facts.",
		WhenToUse: []string{"The span brings facts, events or plans"}, HowToApply: []string{"One fact in one item"},
		Constraints: []string{"Ignore greetings and questions"}}
	if change != nil {
		change(&s)
	}
	return s
}

type action struct {
	Type, Target, Content, About, Skill string
	Evidence                            []int
}

func actionsOf(t *testing.T, m prompt.Material) (out []action) {
	t.Helper()
	raw, err := json.Marshal(Answers["actions"](m))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func contents(as []action) (out []string) {
	for _, a := range as {
		out = append(out, a.Content)
	}
	return out
}

var talk = span("Ada|Hey! I went to the pottery workshop in Bergen last Friday. How are you?",
	"Bo|Thanks! I love hiking with my sister.")

// A skill works by its fields, not by its name.
func TestASkillIsObeyedByItsFieldsAndNotByItsName(t *testing.T) {
	t.Parallel()
	ask := func(change func(*prompt.MemorySkill)) []action {
		return actionsOf(t, prompt.Material{Messages: talk, Bank: []prompt.MemorySkill{inserting(change)}})
	}
	plain := contents(ask(nil))
	if !slices.Equal(plain, []string{"I went to the pottery workshop in Bergen last Friday.",
		"I love hiking with my sister."}) {
		t.Fatalf("kept %q", plain)
	}
	if renamed := ask(func(s *prompt.MemorySkill) {
		s.Name = "delete_nothing"
	}); !slices.Equal(contents(renamed), plain) || renamed[0].Skill != "delete_nothing" {
		t.Errorf("renamed: %+v", renamed)
	}
	for what, c := range map[string]struct {
		change func(*prompt.MemorySkill)
		want   []string
	}{
		"form": {func(s *prompt.MemorySkill) {
			s.HowToApply = []string{"Write each item with the date and the name of the speaker"}
		}, []string{"2023-05-08 Ada: I went to the pottery workshop in Bergen last Friday.",
			"2023-05-08 Bo: I love hiking with my sister."}},
		"limit": {func(s *prompt.MemorySkill) { s.Constraints = append(s.Constraints, "At most 1 item") }, plain[:1]},
		"class": {func(s *prompt.MemorySkill) {
			s.Description, s.Purpose, s.WhenToUse = "Adds preferences.", "", []string{"The span mentions preferences"}
		}, plain[1:]},
		"ignore": {func(s *prompt.MemorySkill) {
			s.Constraints = append(s.Constraints, "Ignore family and preferences")
		}, plain[:1]},
		"action": {func(s *prompt.MemorySkill) { s.Action = "noop" }, nil},
	} {
		if got := contents(ask(c.change)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
	wordy := actionsOf(t, prompt.Material{Messages: span("Ada|Well, I really love that totally quiet lighthouse."),
		Bank: []prompt.MemorySkill{inserting(func(s *prompt.MemorySkill) {
			s.HowToApply = []string{"Leave out filler words"}
		})}})
	if !slices.Equal(contents(wordy), []string{"love quiet lighthouse."}) {
		t.Errorf("fillers: %q", contents(wordy))
	}
	if short := contents(ask(func(s *prompt.MemorySkill) { s.HowToApply = []string{"Keep items compact"} })); len(
		short) != 2 || len(short[0]) >= len(plain[0]) {
		t.Errorf("short: %q", short)
	}
}

// A tool result is attributed to the owner of its record, as in the latest call.
func TestRecordsAreNamedAfterTheirOwner(t *testing.T) {
	t.Parallel()
	bank := []prompt.MemorySkill{inserting(func(s *prompt.MemorySkill) {
		s.HowToApply = []string{"Start each item with the name of the speaker, or of whose record it is"}
	})}
	lines := []prompt.Message{{Index: 0, Role: "tool", Content: "call find_locker: member_id vera_77"},
		{Index: 1, Role: "tool", Content: "find_locker keys: colour red, number 12"},
		{Index: 2, Role: "tool", Content: "call find_locker: member_id bo_8"},
		{Index: 3, Role: "tool", Content: "find_locker keys: colour blue, number 9"}}
	got := contents(actionsOf(t, prompt.Material{Messages: lines, Bank: bank}))
	want := []string{"vera_77: call find_locker: member_id vera_77", "vera_77: find_locker keys: colour red, number 12",
		"bo_8: call find_locker: member_id bo_8", "bo_8: find_locker keys: colour blue, number 9"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestOtherPeopleAndPlacesFollow(t *testing.T) {
	t.Parallel()
	swap := strings.NewReplacer("Ada", "Ines", "Bergen", "Porto", "pottery", "weaving")
	var other []prompt.Message
	for _, m := range talk {
		m.Name, m.Content = swap.Replace(m.Name), swap.Replace(m.Content)
		other = append(other, m)
	}
	bank := []prompt.MemorySkill{inserting(nil)}
	one, two := actionsOf(t, prompt.Material{Messages: talk, Bank: bank}),
		actionsOf(t, prompt.Material{Messages: other, Bank: bank})
	for i := range one {
		one[i].Content, one[i].About = swap.Replace(one[i].Content), swap.Replace(one[i].About)
	}
	if !reflect.DeepEqual(one, two) {
		t.Errorf("%+v\n%+v", one, two)
	}
}

func TestStoredMemoriesAreCorrectedTakenBackAndNotRepeated(t *testing.T) {
	t.Parallel()
	stored := []prompt.StoredMemory{{Handle: "m0", Content: "The pottery workshop is on Tuesday."},
		{Handle: "m1", Content: "Has a ticket for the opera in Oslo."},
		{Handle: "m2", Content: "Ada keeps two grey rabbits."}}
	bank := []prompt.MemorySkill{inserting(nil),
		{Name: "u", Action: "update", Description: "Revises an item when the span corrects it.",
			WhenToUse: []string{"The span mentions a change or a correction"}, Constraints: []string{"Create nothing"}},
		{Name: "d", Action: "delete", Description: "Removes what was cancelled.",
			WhenToUse:   []string{"A plan is cancelled, or facts changed"},
			Constraints: []string{"When unsure do nothing"}}}
	got := actionsOf(t, prompt.Material{Stored: stored, Bank: bank,
		Messages: span("Ada|The pottery workshop is actually on Thursday now. The opera in Oslo is cancelled, I " +
			"have no ticket. Ada keeps two grey rabbits.")})
	want := []struct{ kind, target string }{{"update", "m0"}, {"delete", "m1"}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		if got[i].Type != w.kind || got[i].Target != w.target {
			t.Errorf("%d: %+v, want %+v", i, got[i], w)
		}
	}
}

// A designer's edits follow from the cases: the kind of fact that was lost, and the edits that were
// tried in vain.
func TestEditsFollowTheCases(t *testing.T) {
	t.Parallel()
	edits := func(failed []string, cases string) (out []struct {
		Action, Name string
		Skill        *struct{ Name, Description string }
	}) {
		raw, _ := json.Marshal(Answers["changes"](
			prompt.Material{Bank: []prompt.MemorySkill{inserting(nil)}, Cases: json.RawMessage(cases), Failed: failed,
				Limits: map[string]int{"max_changes": 3}}))
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	health := `[{"handle":"c0","mechanism":"storage","evidence":["My doctor says I am allergic"],"retrieved":["I ` +
		`went out"]},{"handle":"c1","mechanism":"storage","evidence":["The injury needs surgery"]}]`
	if got := edits(nil, health); len(got) != 1 || got[0].Skill == nil || got[0].Skill.Name != "capture_health" ||
		!strings.Contains(got[0].Skill.Description, "health") {
		t.Fatalf("%+v", got)
	}
	if got := edits([]string{"added capture_health: no better"}, health); len(got) > 0 &&
		got[0].Skill.Name == "capture_health" {
		t.Errorf("tried again: %+v", got)
	}
	if got := edits(nil, `[{"handle":"c0","mechanism":"retrieval"}]`); len(got) != 1 ||
		got[0].Action != "refine_existing" || got[0].Name != "insert" {
		t.Errorf("retrieval: %+v", got)
	}
	if got := edits(nil, `[{"handle":"c0","mechanism":"unanswerable"}]`); len(got) != 0 {
		t.Errorf("unanswerable: %+v", got)
	}
}

// If the skills already ask for what was lost, there was no room for it. New items then have the
// form that the bank uses.
func TestWhatFindsNoRoomIsMadeShorter(t *testing.T) {
	t.Parallel()
	edits := func(bank []prompt.MemorySkill, failed ...string) (out []struct {
		Action, Name string
		Skill        *struct {
			How []string `json:"how_to_apply"`
		}
		Changes *struct {
			How []string `json:"how_to_apply"`
		}
	}) {
		raw, _ := json.Marshal(Answers["changes"](
			prompt.Material{Bank: bank, Failed: failed, Limits: map[string]int{"max_changes": 1},
				Cases: json.RawMessage(`[{"handle":"c0","mechanism":"storage","evidence":["Ada: I visited the old ` +
					`harbour museum with my doctor last week"],"retrieved":["The weather stayed grey"]}]`)}))
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := edits([]prompt.MemorySkill{inserting(nil)})
	if len(first) != 1 || first[0].Changes == nil || !slices.Contains(first[0].Changes.How, brief) {
		t.Fatalf("%+v", first)
	}
	if again := edits([]prompt.MemorySkill{inserting(nil)}, "refined insert ("+brief+")"); len(again) != 1 ||
		again[0].Skill == nil {
		t.Errorf("tried again: %+v", again)
	}
	compact := edits([]prompt.MemorySkill{
		inserting(func(s *prompt.MemorySkill) { s.HowToApply = first[0].Changes.How })})
	if len(compact) != 1 || compact[0].Changes == nil || !slices.Contains(compact[0].Changes.How, lean) {
		t.Errorf("still no room: %+v", compact)
	}
	compact = edits([]prompt.MemorySkill{inserting(func(s *prompt.MemorySkill) {
		s.HowToApply = first[0].Changes.How
	})}, "refined insert ("+lean+")")
	if len(compact) != 1 || compact[0].Skill == nil || !slices.Contains(compact[0].Skill.How, brief) ||
		slices.Contains(compact[0].Skill.How, timed) {
		t.Errorf("added in another form: %+v", compact)
	}
}
