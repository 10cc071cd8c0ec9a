package store

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/store/dbsqlc"
)

// PutBank creates a bank or finds it, and locks it until the transaction ends.
func (q BankRepository) PutBank(ctx context.Context, name string) (learning.BankRow, error) {
	r, err := q.q.BankPut(ctx, dbsqlc.BankPutParams{WorkspaceID: q.ws, Name: name})
	return learning.BankRow{ID: r.ID, Name: name, Head: int(r.Head), FrozenAt: r.FrozenAt},
		classify("create the bank", err)
}

// BankNamed finds a bank by its name.
func (q BankRepository) BankNamed(ctx context.Context, name string) (learning.BankRow, bool, error) {
	r, err := q.q.BankGet(ctx, dbsqlc.BankGetParams{WorkspaceID: q.ws, Name: storable(name)})
	if isNoRows(err) {
		return learning.BankRow{}, false, nil
	}
	return learning.BankRow{ID: r.ID, Name: r.Name, Head: int(r.Head), FrozenAt: r.FrozenAt}, err == nil,
		classify("read the bank", err)
}

// BankOf reads a bank by its ID.
func (q BankRepository) BankOf(ctx context.Context, id int64) (learning.BankRow, error) {
	r, err := q.q.BankByID(ctx, dbsqlc.BankByIDParams{WorkspaceID: q.ws, ID: id})
	return learning.BankRow{ID: r.ID, Name: r.Name, Head: int(r.Head), FrozenAt: r.FrozenAt},
		classify("read the bank", err)
}

// Banks lists the banks by name.
func (q BankRepository) Banks(ctx context.Context) ([]learning.BankSummary, error) {
	rows, err := q.q.BanksList(ctx, q.ws)
	if err != nil {
		return nil, classify("list the banks", err)
	}
	out := make([]learning.BankSummary, len(rows))
	for i, r := range rows {
		out[i] = learning.BankSummary{Name: r.Name, Version: int(r.Head), Skills: int(r.Skills), Action: r.Action,
			Snapshot: r.SnapshotSha, OpenCases: int(r.OpenCases), FrozenAt: r.FrozenAt}
		if r.CreatedAt != nil {
			out[i].CreatedAt = *r.CreatedAt
		}
	}
	return out, nil
}

// AdvanceBank moves the head from base to number. It returns false if the head is not base.
func (q BankRepository) AdvanceBank(ctx context.Context, id int64, base, number int) (bool, error) {
	n, err := q.q.BankAdvance(ctx, dbsqlc.BankAdvanceParams{Number: int32(number), WorkspaceID: q.ws, ID: id,
		Base: int32(base)})
	return n == 1, classify("move the bank's head", err)
}

// FreezeBank freezes or unfreezes a bank. It returns false if the bank is so already.
func (q BankRepository) FreezeBank(ctx context.Context, id int64, frozen bool) (bool, error) {
	n, err := q.q.BankFreeze(ctx, dbsqlc.BankFreezeParams{Frozen: frozen, WorkspaceID: q.ws, ID: id})
	return n == 1, classify("freeze the bank", err)
}

// BankVersion reads one version.
func (q BankRepository) BankVersion(ctx context.Context, id int64, number int) (learning.BankVersion, error) {
	r, err := q.q.BankVersionAt(ctx, dbsqlc.BankVersionAtParams{WorkspaceID: q.ws, BankID: id, Number: narrow(number)})
	if isNoRows(err) {
		return learning.BankVersion{}, fault.New(fault.NotFound, fmt.Sprintf("bank version %d not found", number),
			"list the versions with `cairn bank show --history`")
	}
	if err != nil {
		return learning.BankVersion{}, classify("read the bank's version", err)
	}
	return versionOfBank(r)
}

// BankVersions lists versions before a number, the newest first; 0 is no number.
func (q BankRepository) BankVersions(ctx context.Context, id int64, before, most int) ([]learning.BankVersion, error) {
	rows, err := q.q.BankVersions(ctx, dbsqlc.BankVersionsParams{WorkspaceID: q.ws, BankID: id, Before: int32(before),
		MaxRows: int32(most)})
	if err != nil {
		return nil, classify("list the bank's versions", err)
	}
	out := make([]learning.BankVersion, len(rows))
	for i, r := range rows {
		if out[i], err = versionOfBank(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func versionOfBank(r dbsqlc.BankVersion) (learning.BankVersion, error) {
	v := learning.BankVersion{Number: int(r.Number), Action: r.Action, BankSHA: r.BankSha, Capacity: int(r.Capacity),
		Members: r.Members, Fresh: r.Fresh, Policy: r.PolicySha, Optimizer: r.OptimizerSha,
		Snapshot: r.SnapshotSha, Reason: r.Reason, Run: text(r.RunID), CreatedAt: r.CreatedAt}
	if r.Parent != nil {
		v.Parent = int(*r.Parent)
	}
	if err := json.Unmarshal(r.Prompts, &v.Prompts); err != nil {
		return v, fmt.Errorf("decode the prompts of bank version %d: %w", v.Number, err)
	}
	return v, nil
}

// PutBankVersion writes a version.
func (q BankRepository) PutBankVersion(ctx context.Context, id int64, v learning.BankVersion) error {
	if v.Prompts == nil {
		v.Prompts = memoryskill.Prompts{}
	}
	prompts, err := encode("the prompts", v.Prompts)
	if err != nil {
		return err
	}
	var parent *int32
	if v.Parent != 0 {
		p := int32(v.Parent)
		parent = &p
	}
	return classify("write the bank's version",
		q.q.BankVersionPut(ctx, dbsqlc.BankVersionPutParams{WorkspaceID: q.ws, BankID: id, Number: int32(v.Number),
			Parent: parent, Action: v.Action, BankSha: v.BankSHA,
			Capacity: int32(v.Capacity), Members: texts(v.Members), Fresh: texts(v.Fresh), PolicySha: v.Policy,
			OptimizerSha: v.Optimizer, SnapshotSha: v.Snapshot, Reason: storable(v.Reason), RunID: keyOrNull(v.Run),
			Prompts: prompts}))
}

// PutMemorySkills stores versions of memory skills. Existing versions stay unchanged.
func (q BankRepository) PutMemorySkills(ctx context.Context, versions []memoryskill.Version) error {
	for _, v := range versions {
		raw, err := encode("the memory skill", v)
		if err != nil {
			return err
		}
		if err := q.q.MemorySkillPut(ctx, dbsqlc.MemorySkillPutParams{WorkspaceID: q.ws, ID: v.ID,
			Body: raw}); err != nil {
			return classify("store the memory skill", err)
		}
	}
	return nil
}

// MemorySkills reads the given versions of memory skills. It fails if one is missing.
func (q BankRepository) MemorySkills(ctx context.Context, ids []string) ([]memoryskill.Version, error) {
	rows, err := q.q.MemorySkillsByID(ctx, dbsqlc.MemorySkillsByIDParams{WorkspaceID: q.ws, Ids: texts(ids)})
	if err != nil {
		return nil, classify("read the memory skills", err)
	}
	if len(rows) != len(ids) {
		return nil, fmt.Errorf("read the memory skills: %d of %d found", len(rows), len(ids))
	}
	out := make([]memoryskill.Version, len(rows))
	for i, r := range rows {
		if err := json.Unmarshal(r.Body, &out[i]); err != nil {
			return nil, fmt.Errorf("decode memory skill %s: %w", r.ID, err)
		}
	}
	return out, nil
}

// PutBlob stores weights under their hash.
func (q BankRepository) PutBlob(ctx context.Context, kind, sha string, blob []byte) error {
	return classify("store the weights", q.q.PolicyPut(ctx,
		dbsqlc.PolicyPutParams{WorkspaceID: q.ws, Sha: sha, Kind: kind, Blob: blob}))
}

// Blob reads weights.
func (q BankRepository) Blob(ctx context.Context, kind, sha string) ([]byte, error) {
	blob, err := q.q.PolicyGet(ctx, dbsqlc.PolicyGetParams{WorkspaceID: q.ws, Sha: sha, Kind: kind})
	if isNoRows(err) {
		return nil, fault.Newf(fault.NotFound, "%s %.12s not found", kind, sha)
	}
	return blob, classify("read the weights", err)
}

// DropBlobs deletes weights that no version refers to.
func (q BankRepository) DropBlobs(ctx context.Context, shas []string) error {
	return classify("drop the weights", q.q.PolicyDrop(ctx, dbsqlc.PolicyDropParams{WorkspaceID: q.ws, Shas: shas}))
}

// PutSkillStats replaces the statistics of a bank's skill versions.
func (q BankRepository) PutSkillStats(ctx context.Context, bank int64, stats map[string]memoryskill.Stats) error {
	raw, err := encode("the statistics", stats)
	if err != nil {
		return err
	}
	return classify("store the statistics",
		q.q.SkillStatsPut(ctx, dbsqlc.SkillStatsPutParams{WorkspaceID: q.ws, BankID: bank, Stats: raw}))
}

// SkillStats returns the statistics of a bank's skill versions, by version ID.
func (q BankRepository) SkillStats(ctx context.Context, bank int64) (map[string]memoryskill.Stats, error) {
	rows, err := q.q.SkillStatsOf(ctx, dbsqlc.SkillStatsOfParams{WorkspaceID: q.ws, BankID: bank})
	if err != nil {
		return nil, classify("read the statistics", err)
	}
	out := map[string]memoryskill.Stats{}
	for _, r := range rows {
		var one memoryskill.Stats
		if err := json.Unmarshal(r.Stats, &one); err != nil {
			return nil, fmt.Errorf("decode the statistics of %s: %w", r.SkillID, err)
		}
		out[r.SkillID] = one
	}
	return out, nil
}
