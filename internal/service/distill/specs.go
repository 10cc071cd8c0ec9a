package distill

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"cairn/internal/domain/run"
)

// specsKept limits the number of cached configurations. It exceeds the number of concurrent runs of
// a worker; each takes about 20 KB.
const specsKept = 256

// specs caches the configurations of recent runs. A configuration never changes, is long, and every
// step needs it. It contains no text of conversations.
type specs struct {
	mu    sync.Mutex
	known map[run.Ref]Spec
	order []run.Ref // oldest first
}

// of returns the configuration of a run that tx has found, so that access to the run is checked first.
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
		return Spec{}, fmt.Errorf("decode the configuration of run %s: %w", ref.Run, err)
	}
	if len(spec.Models) == 0 { // the first step pins them, see job.pinModels
		spec.Models = map[string]string{}
		return spec, nil
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
