package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/fault"
)

// there returns stored entries with the given contents. The first has the ID 000…1.
func there(contents ...string) (out []Entry) {
	for i, c := range contents {
		out = append(out, Entry{Key: int64(i + 1), ID: fmt.Sprintf("%016x", i+1), Type: Core, Content: c, Version: 1,
			Status: Active})
	}
	return out
}

func add(content string) Operation  { return Operation{Op: Add, Content: content} }
func remove(match string) Operation { return Operation{Op: Remove, Match: match} }
func replace(match, content string) Operation {
	return Operation{Op: Replace, Match: match, Content: content}
}

func TestAMatchSelectsOneEntry(t *testing.T) {
	t.Parallel()
	entries := there("likes tea", "likes tea and cake", "Works at ACME", "works from home", "喜欢喝茶", "twin", "twin")
	for match, want := range map[string]string{
		"likes tea":                       "1", // a whole entry takes precedence over a part of another
		"and cake":                        "2",
		"0000000000000003":                "3",
		"acme":                            "3", // case is ignored only if nothing matches with it
		"works":                           "4",
		"喝茶":                              "5",
		"twin":                            "6", // the first of equal entries
		" likes tea\r\n":                  "1",
		"000000000000000A ":               string(fault.NoMatch),
		"coffee":                          string(fault.NoMatch),
		"likes":                           string(fault.AmbiguousMatch),
		"":                                string(fault.InvalidArgument),
		" ":                               string(fault.InvalidArgument),
		strings.Repeat("x", MatchRunes+1): string(fault.TooLarge),
	} {
		var state []*Entry
		for _, e := range entries {
			state = append(state, &e)
		}
		got := ""
		if e, err := Select(state, match); err != nil {
			got = string(fault.CodeOf(err))
		} else {
			got = fmt.Sprint(e.Key)
		}
		if got != want {
			t.Errorf("%.20q: %s, want %s", match, got, want)
		}
	}
}

func TestAnAmbiguousMatchNamesItsHits(t *testing.T) {
	t.Parallel()
	_, err := MakePlan(Core, there("a cat", "a dog"), []Operation{remove("a ")}, Room{Budget: 100})
	if err == nil || !strings.Contains(err.Error(), "0000000000000001") ||
		!strings.Contains(err.Error(), "0000000000000002") || strings.Contains(err.Error(), "dog") {
		t.Errorf("%v: wants ids and no texts", err)
	}
	if f := fault.From(err); f.Extra["count"] != 2 ||
		fmt.Sprint(f.Extra["matches"]) != "[{0000000000000001 a cat} {0000000000000002 a dog}]" {
		t.Errorf("extras %v", f.Extra)
	}
}

func TestOnlyTheFinalStateMustFit(t *testing.T) {
	t.Parallel()
	full := there(strings.Repeat("a", 50), strings.Repeat("b", 50))
	for name, c := range map[string]struct {
		operations []Operation
		budget     int
		moves      int
	}{
		"an entry too much":               {[]Operation{add("c")}, 100, 1},
		"room made after":                 {[]Operation{add(strings.Repeat("c", 50)), remove("bbb")}, 100, 0},
		"room made before":                {[]Operation{remove("bbb"), add(strings.Repeat("c", 50))}, 100, 0},
		"not enough room made":            {[]Operation{remove("bbb"), add(strings.Repeat("c", 51))}, 100, 1},
		"shorter, though the budget fell": {[]Operation{replace("bbb", "b")}, 10, 0},
		"a smaller budget, nothing new":   {[]Operation{add(strings.Repeat("a", 50))}, 10, 0},
		"an entry larger than the store":  {[]Operation{add(strings.Repeat("c", 120))}, 100, 3},
		"no room at all":                  {[]Operation{add("c")}, 0, 3},
	} {
		p, err := MakePlan(Core, full, c.operations, Room{Budget: c.budget})
		if err != nil || len(p.Moves) != c.moves || c.moves > 0 && p.After > c.budget {
			t.Errorf("%s: %v, %d moves, after %d", name, err, len(p.Moves), p.After)
		}
	}
}

// The least used and longest unconfirmed entries leave first. What a person wrote or approved stays as long as anything
// else can go, and only a person displaces it.
func TestRoomIsMadeOfWhatIsLeastUsedAndLongestUnconfirmed(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2031, 1, n, 0, 0, 0, 0, time.UTC) }
	entries := there("written by a person", "used a lot", "old and unused", "old and said again", "approved", "new")
	for i := range entries {
		entries[i].UpdatedAt, entries[i].Origin = day(i+1), "agent"
	}
	entries[0].Origin, entries[1].Retrieved, entries[4].Approved = "user", 9, true
	again := day(20)
	entries[3].ConfirmedAt = &again
	for _, c := range []struct {
		person bool
		budget int
		want   string
	}{
		{false, 69, "old and unused"},
		{false, 59, "old and unused,new"},
		{false, 40, "old and unused,new,old and said again"},
		{false, 28, "old and unused,new,old and said again,used a lot,cc"},
		{true, 30, "old and unused,new,old and said again,used a lot"},
		{true, 20, "old and unused,new,old and said again,used a lot,written by a person"},
		{true, 1, "old and unused,new,old and said again,used a lot,written by a person,approved,cc"},
	} {
		p, err := MakePlan(Core, entries, []Operation{add("cc")}, Room{Budget: c.budget, Person: c.person})
		var got []string
		for _, e := range p.Moves {
			got = append(got, e.Content)
		}
		if err != nil || strings.Join(got, ",") != c.want {
			t.Errorf("%+v: %q, %v, after %d", c, got, err, p.After)
		}
	}
}

func TestAnEntryThatIsSaidAgainReturns(t *testing.T) {
	t.Parallel()
	entries := there("one", "two", "three")
	entries[0].Moved = true
	p, err := MakePlan(Core, entries, []Operation{add("one")}, Room{Budget: 9})
	if err != nil || len(p.Steps) != 1 || p.Steps[0].Action != Return || p.Steps[0].Entry.Key != 1 ||
		len(p.Moves) != 1 || p.Moves[0].Key != 2 || p.After != 8 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = MakePlan(Core, entries, []Operation{replace("one", "four")}, Room{Budget: 100}); err != nil ||
		p.Steps[0].Entry.Moved || p.After != 12 || len(p.Moves) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestABatchIsDoneInWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	entries := there("one", "two")
	p, err := MakePlan(Core, entries, []Operation{add("three"), remove("not stored")}, Room{Budget: 100})
	if fault.CodeOf(err) != fault.NoMatch || len(p.Steps) != 0 || !strings.Contains(err.Error(), "operation 2") {
		t.Errorf("%+v, %v", p, err)
	}
	if entries[0].Content != "one" || len(entries) != 2 {
		t.Error("the entries have changed")
	}
}

func TestWhatIsThereAlreadyTakesNoStep(t *testing.T) {
	t.Parallel()
	p, err := MakePlan(Core, there("one", "two"), []Operation{add(" one\n"), replace("two", "two")}, Room{Budget: 100})
	if err != nil || len(p.Steps) != 0 || p.Unchanged != 2 || p.Meant[0].Key != 1 || p.Meant[1].Key != 2 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestTwoEntriesThatComeToSayTheSameBecomeOne(t *testing.T) {
	t.Parallel()
	p, err := MakePlan(Core, there("lives in Osaka", "lives in Kyoto"), []Operation{replace("Kyoto", "lives in Osaka")},
		Room{Budget: 100})
	if err != nil || len(p.Steps) != 1 || p.Steps[0].Action != Remove || p.Steps[0].Entry.Key != 2 ||
		p.Meant[0].Key != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// Two active rows with equal content would violate the table's unique index between steps.
func TestNoStepLeavesTwoEntriesAlike(t *testing.T) {
	t.Parallel()
	for name, operations := range map[string][]Operation{
		"swap over a third": {replace("one", "three"), replace("two", "one"), replace("three", "two")},
		"remove and add":    {remove("one"), add("one")},
		"pass on":           {replace("two", "three"), replace("one", "two")},
		"add and drop":      {add("three"), remove("three"), add("three")},
		"merge and go on":   {replace("one", "two"), replace("two", "one")},
	} {
		entries := there("one", "two")
		p, err := MakePlan(Core, entries, operations, Room{Budget: 100})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		said := map[*Entry]string{}
		for i, e := range entries {
			said[&entries[i]] = e.Content
		}
		byKey := func(e *Entry) *Entry {
			if e.Key == 0 {
				return e
			}
			return &entries[e.Key-1]
		}
		for i, s := range p.Steps {
			if s.Action == Remove {
				delete(said, byKey(s.Entry))
			} else {
				said[byKey(s.Entry)] = s.Content
			}
			var all []string
			for _, c := range said {
				all = append(all, c)
			}
			slices.Sort(all)
			if len(slices.Compact(slices.Clone(all))) != len(all) {
				t.Errorf("%s: after step %d there is %q", name, i+1, all)
			}
		}
	}
}

func TestUsageRoundsUp(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]int{{0, 2200, 0}, {1, 2200, 1}, {1100, 2200, 50}, {2199, 2200, 100}, {2300, 2200, 105},
		{5, 0, 100}} {
		if got := Usage(c[0], c[1]); got != c[2] {
			t.Errorf("%d of %d is %d %%, want %d", c[0], c[1], got, c[2])
		}
	}
}
