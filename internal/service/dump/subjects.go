package dump

import (
	"slices"
	"strings"

	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/memory"
)

// subjects holds the IDs of targets that a file names by a folded key, as dumps before exact IDs do.
type subjects map[memory.Scope]string

// note keeps the ID of a target with another key.
func (s subjects) note(t dumpfile.Target) {
	if id := t.Exact().Key; id != t.Key {
		s[memory.Scope{Type: memory.Type(t.Type), Target: t.Key}] = id
	}
}

// named returns the name of a scope, <type>/<key>, with the ID of its target.
func (s subjects) named(scope string) string {
	kind, key, _ := strings.Cut(scope, "/")
	if id, other := s[memory.Scope{Type: memory.Type(kind), Target: key}]; other {
		return kind + "/" + id
	}
	return scope
}

// apply gives a memory the ID of its target. The memory of a mem0 client belongs to the entity that the
// client named, which is returned if the file may not list it as a target.
func (s subjects) apply(m *dumpfile.LoadedMemory) (owner *dumpfile.Target) {
	old := m.Target
	if id, other := s[memory.Scope{Type: m.Type, Target: m.Target}]; other {
		m.Target = id
	}
	for i := range m.Targets {
		m.Targets[i] = s.named(m.Targets[i])
	}
	for _, r := range m.Revisions {
		for i := range r.Targets {
			r.Targets[i] = s.named(r.Targets[i])
		}
	}
	facts, _ := m.Metadata["mem0"].(map[string]any)
	for _, kind := range []string{"user_id", "agent_id", "app_id", "run_id"} {
		name, _ := facts[kind].(string)
		if name == "" || !slices.Contains(memory.Registered, m.Type) {
			continue
		}
		t, err := memory.NewTarget(m.Type, name)
		if err != nil || t.Key == m.Target || t.MatchKey() != (memory.Target{Key: old}).MatchKey() {
			return nil
		}
		m.Target = t.Key
		return &dumpfile.Target{Type: string(t.Type), Key: t.Key, Display: t.Display, CreatedAt: m.CreatedAt,
			LastUsedAt: m.UpdatedAt}
	}
	return nil
}
