package distill

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// specsKept limits the number of cached configurations. It exceeds the number of concurrent runs of
// a worker; each takes about 20 KB.
const specsKept = 256

// specs caches the configurations of recent runs. A configuration never changes, is long, and every
// step needs it. It contains no text of conversations. The zero value is ready for use.
type specs struct {
	made  sync.Once
	known *lru.Cache[run.Ref, Spec]
}

// of returns the configuration of a run that tx has found, so that access to the run is checked first.
func (s *specs) of(ctx context.Context, tx store.Tx, ref run.Ref) (Spec, error) {
	s.made.Do(func() { s.known, _ = lru.New[run.Ref, Spec](specsKept) }) // fails only for a size of 0
	if spec, ok := s.known.Get(ref); ok {
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
	s.known.Add(ref, spec)
	return spec, nil
}
