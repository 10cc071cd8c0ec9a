package vectorspace_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/txscope"
	"cairn/internal/service/search"
	"cairn/internal/service/vectorspace"
)

// pointers are the spaces of every workspace.
type pointers struct {
	used  index.SpaceUse
	err   error
	reads int
}

func (p *pointers) UsedSpaces(context.Context, int64) (index.SpaceUse, error) {
	p.reads++
	return p.used, p.err
}

var (
	oldModel = index.Space{ID: 1, Model: "old", Dims: 2}
	newModel = index.Space{ID: 2, Model: "new", Dims: 3}
	lost     = index.Space{ID: 3, Model: "lost", Dims: 4}
)

// registry serves the new model, which is configured, and the old one.
func registry(t *testing.T, p *pointers, fresh time.Duration, log *bytes.Buffer) *vectorspace.Registry {
	t.Helper()
	r := vectorspace.NewRegistry(vectorspace.RegistryPorts{Pointers: p, Configured: newModel, Fresh: fresh,
		Serve: func(s index.Space) (search.Space, bool) { return search.Space{ID: s.ID}, s != lost },
		Log:   slog.New(slog.NewTextHandler(log, nil))})
	return r
}

func TestAWorkspaceIsSearchedInItsSpace(t *testing.T) {
	t.Parallel()
	p, log := &pointers{}, &bytes.Buffer{}
	r := registry(t, p, 0, log)
	for _, c := range []struct {
		active index.Space
		want   int16
	}{{index.Space{}, newModel.ID}, {oldModel, oldModel.ID}, {newModel, newModel.ID}} {
		p.used.Active = c.active
		if got, err := r.Of(t.Context(), 7); err != nil || got.ID != c.want {
			t.Errorf("%+v: space %d, %v", c.active, got.ID, err)
		}
	}
	p.used.Active = lost
	for range 3 {
		_, err := r.Of(t.Context(), 7)
		if fault.CodeOf(err) != fault.Misconfigured || !strings.Contains(fault.From(err).Hint, "cairn reembed") {
			t.Errorf("a space without an embedder: %v", err)
		}
	}
	if n := strings.Count(log.String(), "words only"); n != 1 {
		t.Errorf("warned %d times: %s", n, log)
	}
	p.err = errors.New("away")
	if _, err := r.Of(t.Context(), 7); !errors.Is(err, p.err) {
		t.Errorf("without the database: %v", err)
	}
	if _, err := r.Of(txscope.Enter(t.Context()), 7); err == nil {
		t.Error("reads the pointer inside a transaction")
	}
}

func TestAPointerIsReusedForAWhile(t *testing.T) {
	t.Parallel()
	p := &pointers{}
	r := registry(t, p, time.Hour, &bytes.Buffer{})
	for range 3 {
		if _, err := r.Of(t.Context(), 7); err != nil {
			t.Fatal(err)
		}
	}
	if p.reads != 1 {
		t.Errorf("read %d times, want once", p.reads)
	}
}

func TestDocumentsNeedTheVectorsOfAllUsedSpaces(t *testing.T) {
	t.Parallel()
	other := index.Space{ID: 4, Model: "other", Dims: 5}
	for name, c := range map[string]struct {
		used index.SpaceUse
		want []int16
	}{
		"none yet":            {index.SpaceUse{}, []int16{2}},
		"the configured one":  {index.SpaceUse{Active: newModel}, []int16{2}},
		"another":             {index.SpaceUse{Active: oldModel}, []int16{1, 2}},
		"without an embedder": {index.SpaceUse{Active: lost}, []int16{2}},
		"a rollback": {index.SpaceUse{Active: newModel,
			Building: []index.Space{other, lost, newModel}}, []int16{2, 4}},
	} {
		r := registry(t, &pointers{used: c.used}, 0, &bytes.Buffer{})
		active, needed, err := r.Owed(t.Context(), 7)
		var got []int16
		for _, s := range needed {
			got = append(got, s.ID)
		}
		if err != nil || active != c.used.Active.ID || len(got) != len(c.want) {
			t.Errorf("%s: active %d, needed %v, %v", name, active, got, err)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: needed %v, want %v", name, got, c.want)
			}
		}
	}
}
