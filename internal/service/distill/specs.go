package distill

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"cairn/internal/domain/run"
)

// specsKept bounds how many configurations are held: more runs than one worker
// has under way, at about 20 KB each.
const specsKept = 256

// specs holds the configurations of the runs that were worked on last. A run's
// never changes, is long, and is wanted by each of its steps. It holds no word of
// a conversation.
type specs struct {
	mu    sync.Mutex
	known map[run.Ref]Spec
	order []run.Ref // the oldest first
}

// of is the configuration of a run that tx has found: who may see the run may
// see it.
func (s *specs) of(ctx context.Context, tx Tx, ref run.Ref) (Spec, error) {
	if spec, ok := s.held(ref); ok {
		return spec, nil
	}
	raw, err := tx.Runs().RunSpec(ctx, ref.Run)
	if err != nil {
		return Spec{}, err
	}
	var spec Spec
	if err := json.Unmarshal(raw, &spec); err != nil {
		return Spec{}, fmt.Errorf("decode the configuration of run %d: %w", ref.Run, err)
	}
	s.hold(ref, spec)
	return spec, nil
}

func (s *specs) held(ref run.Ref) (Spec, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec, ok := s.known[ref]
	return spec, ok
}

func (s *specs) hold(ref run.Ref, spec Spec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.known[ref]; ok {
		return
	}
	if s.known == nil {
		s.known = make(map[run.Ref]Spec, specsKept)
	}
	if len(s.order) == specsKept {
		delete(s.known, s.order[0])
		s.order = s.order[1:]
	}
	s.known[ref] = spec
	s.order = append(s.order, ref)
}
