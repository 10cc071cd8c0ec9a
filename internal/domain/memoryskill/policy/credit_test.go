package policy

import "testing"

func TestRedistributeKeepsTheSum(t *testing.T) {
	t.Parallel()
	nearAll(t, "five", Redistribute(.8, 5), []float64{.051269078, .056965642, .063295158, .070327953, .558142170})
	nearAll(t, "two", Redistribute(1, 2), []float64{.189473684, .810526316})
	nearAll(t, "one", Redistribute(.7, 1), []float64{.7})
	if len(Redistribute(1, 0)) != 0 {
		t.Error("an empty trace got a reward")
	}
}

func TestProcessRewardsDoingWhatWasChosen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		effect Effect
		want   float64
	}{
		{"all", Effect{Selected: []string{"insert", "update"}, Emitted: []string{"update", "insert", "insert"}}, .005},
		{"one of three", Effect{Selected: []string{"insert", "update", "delete"}, Emitted: []string{"insert"}},
			.001666667},
		{"another", Effect{Selected: []string{"delete"}, Emitted: []string{"insert"}}, -.005},
		{"all failed", Effect{Selected: []string{"insert"}, Failed: true}, -.0025},
		{"rightly idle", Effect{Selected: []string{"noop"}, Emitted: []string{"noop"}}, .001},
		{"idle in part", Effect{Selected: []string{"noop", "delete"}, Emitted: []string{"noop", "insert"}}, .000333333},
		{"nothing came", Effect{Selected: []string{"insert"}}, 0},
	} {
		near(t, c.name, Process(c.effect, 20), c.want)
	}
}

// trace returns an episode of four decisions with a mean score of 0.5.
func trace() Episode {
	return Episode{
		Decisions: []Decision{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}},
		Effects:   make([]Effect, 4),
		Queries: []Query{
			{Score: 1, Scored: true, Retrieved: []string{"a", "a", "b"}},
			{Score: .8, Scored: true, Cited: []string{"b"}, Retrieved: []string{"a", "b"}},
			{Score: 0, Scored: true, Retrieved: []string{"a"}, Evidence: []string{"c"}},
			{Score: .2, Scored: true, Retrieved: []string{"elsewhere"}},
			{Score: 0, Scored: false, Retrieved: []string{"a", "d"}},
		},
	}
}

func TestProvenanceCreditsWhoWroteWhatWasMet(t *testing.T) {
	t.Parallel()
	steps, err := Credit{Name: Provenance, Local: 1}.Steps([]Episode{trace()})
	if err != nil {
		t.Fatal(err)
	}
	// a: the first query, once although it used two of its memories. b: the first, and the second
	// by citation. c: the miss of its evidence. d: only an unscored query.
	want := []float64{.5, .4, -.5, 0}
	for i, s := range steps {
		near(t, s.ID, s.Reward, want[i])
		if s.Credited != (s.ID != "d") || !s.Done {
			t.Errorf("%s: credited %v, done %v", s.ID, s.Credited, s.Done)
		}
	}
	blended, err := Credit{Name: Provenance, Local: .75}.Steps([]Episode{trace()})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "a, blended", blended[0].Reward, .75*.5+.25*.5)
	near(t, "c, blended", blended[2].Reward, .75*-.5+.25*.5)
}

func TestAGoodAnswerIsNoMiss(t *testing.T) {
	t.Parallel()
	q := Query{Score: .9, Scored: true, Retrieved: []string{"a"}, Evidence: []string{"c"}}
	if got := q.Behind(.5); len(got) != 1 || got[0] != "a" {
		t.Errorf("a good answer from elsewhere is credited to %v", got)
	}
	q.Retrieved = nil
	if got := q.Behind(.5); len(got) != 1 || got[0] != "c" {
		t.Errorf("an answer that met nothing is credited to %v", got)
	}
}

func TestWholeTraceCredits(t *testing.T) {
	t.Parallel()
	failed := Episode{Decisions: []Decision{{ID: "x"}}, Effects: make([]Effect, 1), Queries: []Query{{Score: 1}}}
	shaped := trace()
	shaped.Effects[1] = Effect{Selected: []string{"insert"}, Failed: true}
	for _, c := range []struct {
		name string
		want []float64
	}{
		{Terminal, []float64{0, 0, 0, .5, 0}},
		{Redistributed, append(Redistribute(.5, 4), 0)},
		{Shaped, []float64{Redistribute(.5, 4)[0], Redistribute(.5, 4)[1] - .0125, Redistribute(.5, 4)[2],
			Redistribute(.5, 4)[3], 0}},
	} {
		steps, err := Credit{Name: c.name}.Steps([]Episode{shaped, failed})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range steps {
			near(t, c.name+" "+s.ID, s.Reward, c.want[i])
			if s.Credited != (i < 4) || s.Done != (i >= 3) {
				t.Errorf("%s %s: credited %v, done %v", c.name, s.ID, s.Credited, s.Done)
			}
		}
	}
}

// A decision whose span was lost to an outage is masked by every credit, and the trace's reward
// goes to the others.
func TestALostDecisionHasNoCredit(t *testing.T) {
	t.Parallel()
	lost := trace()
	lost.Lost = []string{"c", "d"}
	for name, want := range map[string][]float64{
		Provenance: {.9*.5 + .1*.5, .9*.4 + .1*.5, 0, 0}, // c saw the missed evidence
		Terminal:   {0, .5, 0, 0}, Redistributed: append(Redistribute(.5, 2), 0, 0),
		Shaped: append(Redistribute(.5, 2), 0, 0),
	} {
		steps, err := Credit{Name: name, Local: DefaultLocal}.Steps([]Episode{lost})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range steps {
			near(t, name+" "+s.ID, s.Reward, want[i])
			if s.Credited != (i < 2) {
				t.Errorf("%s %s: credited %v", name, s.ID, s.Credited)
			}
		}
	}
	full := lost
	full.Room = &Room{Held: []float64{.5, .5, 0, 0}, Price: 1}
	steps, err := DefaultCredit().Steps([]Episode{full})
	if err != nil || !steps[0].Credited || steps[2].Credited || steps[3].Credited {
		t.Errorf("with a full store: %+v %v", steps, err)
	}
	if own := lost.Own(); own["a"] == 0 || own["b"] == 0 || len(own) != 3 { // including one from elsewhere
		t.Errorf("scores of decisions: %v", own)
	}
	lost.Lost = []string{"a", "b", "c", "d"}
	if steps, err = (Credit{Name: Terminal}).Steps([]Episode{lost}); err != nil || steps[3].Credited ||
		steps[3].Reward != 0 {
		t.Errorf("all lost: %+v %v", steps, err)
	}
}

func TestUnknownCreditIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []Credit{{Name: "dense"}, {}, {Name: Provenance, Local: 1.5}} {
		if _, err := c.Steps(nil); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

// The capacity of a full store has a price: a decision with memories that are never asked for gets
// less than a decision without memories.
func TestRoomCostsWhoTakesItUp(t *testing.T) {
	t.Parallel()
	full := trace()
	full.Room = &Room{Held: []float64{.5, .25, .25, 0}, Price: .4}
	steps, err := Credit{Name: Provenance, Local: 1}.Steps([]Episode{full})
	if err != nil {
		t.Fatal(err)
	}
	// Four scored queries. a and b share the first; only b is cited by the second.
	want := []float64{4 * (.5/4 - .4*.5), 4 * (.5/4 + .8/4 - .4*.25), 4 * (-.4 * .25), 0}
	for i, s := range steps {
		near(t, s.ID, s.Reward, want[i])
		if !s.Credited || !s.Done {
			t.Errorf("%s: credited %v, done %v", s.ID, s.Credited, s.Done)
		}
	}
	saw := Episode{Decisions: []Decision{{ID: "a"}, {ID: "b"}}, Room: &Room{Held: []float64{0, 0}},
		Queries: []Query{{Score: 1, Scored: true, Retrieved: []string{"a", "b"}, Evidence: []string{"b"}}}}
	if steps, err = (Credit{Name: Provenance}).Steps([]Episode{saw}); err != nil || steps[0].Reward != 0 ||
		steps[1].Reward != 2 {
		t.Errorf("%v %+v: b saw the evidence, a was only met", err, steps)
	}
	saw.Queries[0].Score, saw.Queries[0].Taken = .25, []string{"a"}
	if steps, err = (Credit{Name: Provenance}).Steps([]Episode{saw}); err != nil || steps[0].Reward != -1.5 ||
		steps[1].Reward != .5 {
		t.Errorf("%v %+v: a took back what was asked about", err, steps)
	}
	saw.Room.Held = nil
	if _, err = (Credit{Name: Provenance}).Steps([]Episode{saw}); err == nil {
		t.Error("room of other decisions was taken")
	}
}
