package channeltest

import (
	"slices"
	"testing"
	"time"

	"cairn/internal/domain/channel"
	"cairn/internal/testkit"
)

// Events that were not accepted are delivered again, with the same keys and in their order.
func redelivery(t *testing.T, s Suite) {
	r := s.quiet(t)
	r.refuse = 2
	r.receive()
	want := []string{"one", "two", "three"}
	for _, text := range want {
		r.Say(UserMessage{User: "7", Name: "Ada", Text: text})
	}
	for _, text := range want {
		r.event(text)
	}
	if got := r.texts(); !slices.Equal(got, want) {
		t.Errorf("the events are %q", got)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.refused {
		if !slices.ContainsFunc(r.events, func(o channel.Event) bool { return o.Key == e.Key && o.Text == e.Text }) {
			t.Errorf("%q was delivered again with another key", e.Text)
		}
	}
}

// What users write while no process receives arrives at the next one, once and in order.
func restarts(t *testing.T, s Suite) {
	r := s.quiet(t)
	stop := r.receive()
	r.Say(UserMessage{User: "7", Name: "Ada", Text: "one"})
	r.event("one")
	stop()
	time.Sleep(100 * time.Millisecond) // the platform sees that the connection has ended
	r.Say(UserMessage{User: "7", Name: "Ada", Text: "two"})
	r.Say(UserMessage{User: "7", Name: "Ada", Text: "three"})
	var err error
	r.adapter, err = s.Open(r.Platform)
	testkit.Must(t, err)
	r.receive()
	r.Say(UserMessage{User: "7", Name: "Ada", Text: "four"})
	r.event("four")
	if got := r.texts(); !slices.Equal(got, []string{"one", "two", "three", "four"}) {
		t.Errorf("the events are %q", got)
	}
}

func duplicates(t *testing.T, s Suite) {
	r := s.open(t)
	r.Say(UserMessage{User: "7", Name: "Ada", Text: "Once"})
	first := r.event("Once")
	r.Repeat()
	r.Say(UserMessage{User: "7", Name: "Ada", Text: "Next"})
	if next := r.event("Next"); next.Key == first.Key {
		t.Errorf("two messages have the key %q", next.Key)
	}
	for _, e := range r.all() {
		if e.Text == "Once" && e.Key != first.Key {
			t.Errorf("a repeated event has the keys %q and %q", first.Key, e.Key)
		}
	}
}

// Nothing is lost and the order is kept while connections break.
func connections(t *testing.T, s Suite) {
	r := s.open(t)
	var want []string
	for i := range 12 {
		text := "m" + string(rune('a'+i))
		want = append(want, text)
		r.Say(UserMessage{User: "7", Name: "Ada", Text: text})
		if i%4 == 1 {
			r.Drop()
		}
		if i%4 == 2 {
			time.Sleep(200 * time.Millisecond)
		}
	}
	for _, text := range want {
		r.event(text)
	}
	if got := r.texts(); !slices.Equal(got, want) {
		t.Errorf("the order is %q", got)
	}
}
