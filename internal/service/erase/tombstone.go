package erase

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
)

// tombstones is the folder of the package store. A key is never deleted.
const tombstones = "erased"

// bury stores the tombstone of an erasure before its first deletion.
func (s *Service) addTombstone(ctx context.Context, id int64) error {
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
func (s *Service) Tombstones(ctx context.Context) ([]erasure.Tombstone, error) {
	keys, err := s.Blobs.List(ctx, tombstones)
	if err != nil {
		return nil, fmt.Errorf("list the tombstones of erasures: %w", err)
	}
	out := make([]erasure.Tombstone, len(keys))
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
func (s *Service) Repeat(ctx context.Context, all []erasure.Tombstone) (repeated []erasure.Erasure, err error) {
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
