package peerbench

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/internal/testkit"
)

// memory is a system in this process. It loses nothing when it is killed.
type memory struct {
	saved map[string][]string
	dead  atomic.Bool
}

func (m *memory) start(context.Context) error {
	if m.saved == nil {
		m.saved = map[string][]string{}
	}
	m.dead.Store(false)
	return nil
}

func (m *memory) add(_ context.Context, user, text string) error {
	if m.dead.Load() {
		return errors.New("dead")
	}
	time.Sleep(2 * time.Millisecond)
	m.saved[user] = append(m.saved[user], text+" ")
	return nil
}

func (m *memory) load(_ context.Context, user string, texts []string) error {
	m.saved[user] = append(m.saved[user], texts...)
	return nil
}

func (m *memory) search(_ context.Context, user, query string) (out []string, err error) {
	number := strings.TrimSuffix(query[strings.LastIndexByte(query, ' ')+1:], "?")
	for _, text := range m.saved[user] {
		if strings.Contains(text, "number "+number) {
			out = append(out, text)
		}
	}
	return out, nil
}

func (m *memory) list(_ context.Context, user string) ([]string, error) { return m.saved[user], nil }

func (m *memory) kill() error {
	m.dead.Store(true)
	return nil
}

func (m *memory) stop() {}

func TestAddsAndSearchesAreCounted(t *testing.T) {
	t.Parallel()
	model, err := startModel(0)
	testkit.Must(t, err)
	defer model.close()
	o := Options{Adds: 6, Rows: 700, Queries: 9, Log: io.Discard}
	s, row := &memory{}, Row{System: cairnName}
	testkit.Must(t, s.start(t.Context()))
	testkit.Must(t, adds(t.Context(), o, s, model, &row))
	testkit.Must(t, searches(t.Context(), o, s, model, &row))
	if row.Adds != 6 || row.Failed != 0 || row.Add == 0 || row.Rows != 700 || row.Found != 9 || row.Calls != 0 {
		t.Errorf("%+v", row)
	}
}

func TestASystemThatKeepsWhatItAcknowledgedLosesNothing(t *testing.T) {
	t.Parallel()
	o := Options{Adds: 8, Latency: time.Millisecond, Log: io.Discard}
	s, row := &memory{}, Row{}
	testkit.Must(t, s.start(t.Context()))
	testkit.Must(t, losses(t.Context(), o, s, nil, &row))
	if row.Accepted < 4 || row.Lost != 0 {
		t.Errorf("%+v", row)
	}
}

func TestTheResultHoldsOnlyIfCairnLostNothing(t *testing.T) {
	t.Parallel()
	rows := []Row{{System: cairnName}, {System: mem0Name, Lost: 3}, {System: langmemName}}
	lost := []Row{{System: cairnName, Lost: 1}, rows[1], rows[2]}
	broken := []Row{rows[0], rows[1], {System: langmemName, Error: "no database"}}
	if !(Result{Rows: rows}).Held() || (Result{Rows: lost}).Held() || (Result{Rows: broken}).Held() ||
		(Result{Rows: rows[:2]}).Held() {
		t.Error("wrong result of Held")
	}
	var table strings.Builder
	testkit.Must(t, (Result{Rows: broken}).Print(&table))
	if !strings.Contains(table.String(), "no database") || !strings.Contains(table.String(), mem0Name) {
		t.Error(table.String())
	}
}

func TestTheProcessorTimeOfDescendantsIsRead(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc")
	}
	if _, err := descendants(); err != nil {
		t.Error(err)
	}
}
