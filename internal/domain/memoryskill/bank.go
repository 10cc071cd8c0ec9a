package memoryskill

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// DefaultCapacity is how many skills a bank holds unless told otherwise.
const DefaultCapacity = 30

// Bank is one version of a set of skills, by name. It is a value: every change
// makes another bank and leaves this one as it is.
type Bank struct {
	versions []Version // ascending by name
	capacity int
	parent   string // hash of the bank that it was made from
}

// NewBank holds versions, in any order, at most capacity of them.
func NewBank(capacity int, versions ...Version) (Bank, error) {
	b := Bank{capacity: capacity, versions: slices.Clone(versions)}
	slices.SortFunc(b.versions, func(x, y Version) int { return strings.Compare(x.Skill.Name, y.Skill.Name) })
	for i, v := range b.versions {
		if i > 0 && b.versions[i-1].Skill.Name == v.Skill.Name {
			return Bank{}, exists(v.Skill.Name)
		}
	}
	if len(versions) > capacity {
		return Bank{}, fault.Newf(fault.QuotaExceeded, "%d skills do not fit into a bank of %d", len(versions),
			capacity)
	}
	return b, nil
}

// SeedBank holds the primitives, noop too unless it is left out.
func SeedBank(capacity int, withNoop bool) (Bank, error) {
	var versions []Version
	for _, s := range Primitives() {
		if s.Action == Noop && !withNoop {
			continue
		}
		v, err := NewVersion(s, "", Seed, "")
		if err != nil {
			return Bank{}, fmt.Errorf("primitive %q: %w", s.Name, err)
		}
		versions = append(versions, v)
	}
	return NewBank(capacity, versions...)
}

// Versions are what the bank holds, ascending by name: the candidates of a
// decision.
func (b Bank) Versions() []Version { return slices.Clone(b.versions) }

// Len counts the skills.
func (b Bank) Len() int { return len(b.versions) }

// Capacity is how many skills fit.
func (b Bank) Capacity() int { return b.capacity }

// Parent is the hash of the bank that this one was made from, if any.
func (b Bank) Parent() string { return b.parent }

// Get finds a version by the name of its skill.
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

// Hash names the bank by what it holds: 64 hexadecimal digits. How it came about
// and how much it could hold do not count, so going back to an earlier set gives
// the earlier hash.
func (b Bank) Hash() string {
	var parts []string
	for _, v := range b.versions {
		parts = append(parts, v.ID, v.Content)
	}
	return digest("bank", parts...)
}

// Add puts a new skill in. A name that is taken is an error, never a
// replacement, and so is a full bank: see Evict.
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
		return b, fault.New(fault.QuotaExceeded, fmt.Sprintf("the bank holds %d skills already", len(b.versions)),
			"remove one first, or raise the bank's capacity")
	}
	return b.changed(slices.Insert(slices.Clone(b.versions), i, v)), nil
}

// Refine puts a new version in the place of the skill's current one. The action
// stays what it is: what a skill may do to memory is decided when it is added.
func (b Bank) Refine(s Skill, author Author, origin string) (Bank, error) {
	i, there := b.find(strings.TrimSpace(s.Name))
	if !there {
		return b, fault.Newf(fault.NotFound, "the bank has no skill %q to refine", line(s.Name))
	}
	current := b.versions[i]
	if ParseAction(string(s.Action)) != current.Skill.Action {
		return b, fault.New(fault.Protected, fmt.Sprintf("skill %q is for %s; a refinement cannot make it %s", s.Name,
			current.Skill.Action, line(string(s.Action))),
			"add another skill for the other action")
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

// Remove takes a skill out. Primitives stay.
func (b Bank) Remove(name string) (Bank, error) {
	i, there := b.find(name)
	switch {
	case !there:
		return b, fault.Newf(fault.NotFound, "the bank has no skill %q", line(name))
	case IsPrimitive(name):
		return b, fault.New(fault.Protected, fmt.Sprintf("%q is one of the four primitives", name), "refine it instead")
	}
	return b.changed(slices.Delete(slices.Clone(b.versions), i, i+1)), nil
}

func (b Bank) changed(versions []Version) Bank {
	return Bank{versions: versions, capacity: b.capacity, parent: b.Hash()}
}

func exists(name string) error {
	return fault.New(fault.AlreadyExists, fmt.Sprintf("the bank has a skill %q already", name),
		"refine it, or choose another name")
}
