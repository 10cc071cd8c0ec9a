package memoryskill

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// DefaultCapacity is the default capacity of a bank.
const DefaultCapacity = 30

// Bank is one version of a set of skills with unique names. It is a value: every change returns
// another bank and leaves this one unchanged.
type Bank struct {
	versions []Version // ascending by name
	capacity int
	parent   string // hash of the bank that it was derived from
}

// NewBank returns a bank of versions, in any order, at most capacity of them.
func NewBank(capacity int, versions ...Version) (Bank, error) {
	b := Bank{capacity: capacity, versions: slices.Clone(versions)}
	slices.SortFunc(b.versions, func(x, y Version) int { return strings.Compare(x.Skill.Name, y.Skill.Name) })
	for i, v := range b.versions {
		if i > 0 && b.versions[i-1].Skill.Name == v.Skill.Name {
			return Bank{}, exists(v.Skill.Name)
		}
	}
	if len(versions) > capacity {
		return Bank{}, fault.Newf(fault.QuotaExceeded, "%d skills exceed the capacity of the bank, %d", len(versions),
			capacity)
	}
	return b, nil
}

// SeedBank returns a bank with the primitives only, with or without noop. See ShippedBank.
func SeedBank(capacity int, withNoop bool) (Bank, error) {
	skills := Primitives()
	if !withNoop {
		skills = slices.DeleteFunc(skills, func(s Skill) bool { return s.Action == Noop })
	}
	return bankOf(capacity, skills)
}

// bankOf returns a bank of shipped skills.
func bankOf(capacity int, skills []Skill) (Bank, error) {
	var versions []Version
	for _, s := range skills {
		v, err := NewVersion(s, "", Seed, "")
		if err != nil {
			return Bank{}, fmt.Errorf("shipped skill %q: %w", s.Name, err)
		}
		versions = append(versions, v)
	}
	return NewBank(capacity, versions...)
}

// Versions returns the skills of the bank, ascending by name: the candidates of a decision.
func (b Bank) Versions() []Version { return slices.Clone(b.versions) }

// Len returns the number of skills.
func (b Bank) Len() int { return len(b.versions) }

// Capacity returns the maximum number of skills.
func (b Bank) Capacity() int { return b.capacity }

// Parent returns the hash of the bank that this one was derived from, if any.
func (b Bank) Parent() string { return b.parent }

// Get returns a version by the name of its skill.
func (b Bank) Get(name string) (Version, bool) {
	i, there := b.find(name)
	if !there {
		return Version{}, false
	}
	return b.versions[i], true
}

func (b Bank) find(name string) (int, bool) {
	return slices.BinarySearchFunc(b.versions, name, func(v Version, name string) int {
		return strings.Compare(v.Skill.Name, name)
	})
}

// Hash identifies the bank by its content: 64 hexadecimal digits. The history and the capacity are
// not part of it, so a rollback restores the earlier hash.
func (b Bank) Hash() string {
	var parts []string
	for _, v := range b.versions {
		parts = append(parts, v.ID, v.Content)
	}
	return digest("bank", parts...)
}

// Add adds a new skill. It returns an error if the name exists or the bank is full; see Evict.
func (b Bank) Add(s Skill, author Author, origin string) (Bank, error) {
	v, err := NewVersion(s, "", author, origin)
	if err != nil {
		return b, err
	}
	i, there := b.find(v.Skill.Name)
	if there {
		return b, exists(v.Skill.Name)
	}
	if len(b.versions) >= b.capacity {
		return b, fault.New(fault.QuotaExceeded, fmt.Sprintf("the bank is full: it has %d skills", len(b.versions)),
			"remove a skill first, or raise the capacity of the bank")
	}
	return b.changed(slices.Insert(slices.Clone(b.versions), i, v)), nil
}

// Refine replaces the current version of a skill. Its action cannot change: it is decided when the
// skill is added.
func (b Bank) Refine(s Skill, author Author, origin string) (Bank, error) {
	i, there := b.find(strings.TrimSpace(s.Name))
	if !there {
		return b, fault.Newf(fault.NotFound, "the bank has no skill %q to refine", line(s.Name))
	}
	current := b.versions[i]
	if ParseAction(string(s.Action)) != current.Skill.Action {
		return b, fault.New(
			fault.Protected,
			fmt.Sprintf("skill %q has action %s, which a refinement cannot change to %s", s.Name,
				current.Skill.Action, line(string(s.Action))),
			"add a new skill for the other action",
		)
	}
	v, err := NewVersion(s, current.ID, author, origin)
	if err != nil {
		return b, err
	}
	if v.Content == current.Content {
		return b, fault.Newf(fault.InvalidArgument, "the refinement of %q changes nothing", s.Name)
	}
	versions := slices.Clone(b.versions)
	versions[i] = v
	return b.changed(versions), nil
}

// Remove removes a skill. Primitives cannot be removed.
func (b Bank) Remove(name string) (Bank, error) {
	i, there := b.find(name)
	switch {
	case !there:
		return b, fault.Newf(fault.NotFound, "the bank has no skill %q", line(name))
	case IsPrimitive(name):
		return b, fault.New(fault.Protected, fmt.Sprintf("skill %q is a primitive", name), "refine it instead")
	}
	return b.changed(slices.Delete(slices.Clone(b.versions), i, i+1)), nil
}

func (b Bank) changed(versions []Version) Bank {
	return Bank{versions: versions, capacity: b.capacity, parent: b.Hash()}
}

func exists(name string) error {
	return fault.New(fault.AlreadyExists, fmt.Sprintf("the bank already has skill %q", name),
		"refine the existing skill, or choose another name")
}
