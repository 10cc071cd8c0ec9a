package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/store/dbsqlc"
)

// Once runs effect under the operation ID op, once. It inserts the operation's row first: a
// concurrent attempt blocks on it. That attempt, and every later one, gets the stored result
// without running effect. The same ID with other arguments is OpReused.
func Once[T any](ctx context.Context, q Tx, op string, args any, effect func() (T, error)) (T, error) {
	return once(ctx, q.session, op, args, effect)
}

func once[T any](ctx context.Context, q session, op string, args any, effect func() (T, error)) (T, error) {
	var result T
	sha, err := argsSHA(op, args)
	if err != nil {
		return result, err
	}
	n, err := q.q.OpBegin(ctx, dbsqlc.OpBeginParams{WorkspaceID: q.ws, OpID: op, ArgsSha: sha[:]})
	if err != nil {
		return result, classify("begin "+op, err)
	}
	if n == 0 {
		raw, _, err := q.transaction().Operations().logged(ctx, op, sha)
		if err != nil {
			return result, err
		}
		if err := json.Unmarshal(raw, &result); err != nil {
			return result, fmt.Errorf("decode the result of %s: %w", op, err)
		}
		return result, nil
	}
	if result, err = effect(); err != nil {
		return result, err
	}
	raw, err := encode("the result of "+op, result)
	if err != nil {
		return result, err
	}
	n, err = q.q.OpEnd(ctx, dbsqlc.OpEndParams{Result: raw, WorkspaceID: q.ws, OpID: op})
	return result, oneRow("end "+op, n, err)
}

// Logged returns the result of a completed operation. Callers check it before they prepare an
// effect, because the preparation may not be valid after the effect.
func (q OperationRepository) Logged(ctx context.Context, op string, args any) (result json.RawMessage, done bool,
	err error) {
	sha, err := argsSHA(op, args)
	if err != nil {
		return nil, false, err
	}
	return q.logged(ctx, op, sha)
}

func (q OperationRepository) logged(ctx context.Context, op string, sha [sha256.Size]byte) (json.RawMessage, bool,
	error) {
	row, err := q.q.OpGet(ctx, dbsqlc.OpGetParams{WorkspaceID: q.ws, OpID: op})
	if isNoRows(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, classify("read "+op, err)
	}
	if !bytes.Equal(row.ArgsSha, sha[:]) {
		return nil, false, fault.New(fault.OpReused,
			fmt.Sprintf("operation %s was already executed with other arguments", op), "")
	}
	return row.Result, true, nil
}

func argsSHA(op string, args any) ([sha256.Size]byte, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("encode the arguments of %s: %w", op, err)
	}
	return sha256.Sum256(raw), nil
}

// void marks a voided operation in the log, in place of the hash of its arguments. No arguments
// have this hash.
var void = sha256.Sum256(nil)

// VoidOp returns the effect of an operation. An operation without an effect cannot have one later:
// an attempt in progress fails.
func (q OperationRepository) VoidOp(ctx context.Context, op string) (json.RawMessage, error) {
	n, err := q.q.OpBegin(ctx, dbsqlc.OpBeginParams{WorkspaceID: q.ws, OpID: op, ArgsSha: void[:]})
	if err != nil || n == 1 {
		return nil, classify("void "+op, err)
	}
	row, err := q.q.OpGet(ctx, dbsqlc.OpGetParams{WorkspaceID: q.ws, OpID: op})
	if err != nil || bytes.Equal(row.ArgsSha, void[:]) {
		return nil, classify("read "+op, err)
	}
	return row.Result, nil
}
