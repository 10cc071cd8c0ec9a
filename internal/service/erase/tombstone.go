package erase

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"cairn/internal/domain/fault"
)

// Tombstone identifies the data of an erasure without naming it. The package store keeps it: a
// restored database can come from a backup that was made before the erasure.
type Tombstone struct {
	Token          uuid.UUID `json:"token"`         // of the erasure
	WorkspaceKey   string    `json:"workspace_key"` // in incarnation 1
	Conversation   int64     `json:"conversation,omitempty"`
	ConversationAt time.Time `json:"conversation_created_at,omitzero"` // its number may be assigned again
	Subject        []string  `json:"subject,omitempty"`                // SHA-256 of its names, in hexadecimal
	Derived        string    `json:"derived"`
	RequestedAt    time.Time `json:"requested_at"`
}

// TombstoneStore finds the data of tombstones.
type TombstoneStore interface {
	Tombstone(ctx context.Context, id int64) (Tombstone, error)
	// Buried returns what a tombstone identifies in this database. found is false if the database
	// knows the erasure, or has no such data.
	Buried(ctx context.Context, t Tombstone) (target Target, found bool, err error)
	// RepeatErasure accepts the erasure of target again, under the token of the first one.
	RepeatErasure(ctx context.Context, target Target, token uuid.UUID) (int64, error)
}

// tombstones is the folder of the package store. A key is never deleted.
const tombstones = "erased"

// bury stores the tombstone of an erasure before its first deletion.
func (s *Service) bury(ctx context.Context, id int64) error {
	t, err := s.Store.Tombstone(ctx, id)
	if err != nil {
		return err
	}
	data, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode the tombstone of erasure %d: %w", id, err)
	}
	err = s.Blobs.Put(ctx, tombstones+"/"+t.Token.String()+".json", data)
	if fault.CodeOf(err) == fault.AlreadyExists { // a repeated erasure has that of the first one
		return nil
	}
	return err
}

// Tombstones reads the tombstones of all erasures, also of those that the database does not know.
func (s *Service) Tombstones(ctx context.Context) ([]Tombstone, error) {
	keys, err := s.Blobs.List(ctx, tombstones)
	if err != nil {
		return nil, fmt.Errorf("list the tombstones of erasures: %w", err)
	}
	out := make([]Tombstone, len(keys))
	for i, key := range keys {
		data, err := s.Blobs.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("read a tombstone: %w", err)
		}
		if err := json.Unmarshal(data, &out[i]); err != nil {
			return nil, fmt.Errorf("decode the tombstone %s: %w", key, err)
		}
	}
	return out, nil
}

// Repeat accepts the erasures again whose data the database still has, and that it does not know: it
// was restored from an older backup. It returns them. Calling it again changes nothing.
func (s *Service) Repeat(ctx context.Context, all []Tombstone) (repeated []Erasure, err error) {
	for _, t := range all {
		target, found, err := s.Store.Buried(ctx, t)
		if err != nil {
			return repeated, err
		}
		if !found {
			continue
		}
		id, err := s.Store.RepeatErasure(ctx, target, t.Token)
		if err != nil {
			return repeated, err
		}
		e, err := s.Store.Erasure(ctx, id)
		if err != nil {
			return repeated, err
		}
		repeated = append(repeated, e)
	}
	return repeated, nil
}
