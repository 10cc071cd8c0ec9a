package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"cairn/internal/fault"
	"cairn/internal/store/dbsqlc"
)

// Once runs effect under the operation id op, once. The operation's row goes in
// first: an attempt beside this one blocks on it, and then, like every later
// attempt, gets the logged result without running effect. The same id with other
// arguments is OpReused.
func Once[T any](ctx context.Context, q Queries, op string, args any, effect func() (T, error)) (T, error) {
	var result T
	raw, err := json.Marshal(args)
	if err != nil {
		return result, fmt.Errorf("encode the arguments of %s: %w", op, err)
	}
	sha := sha256.Sum256(raw)
	n, err := q.q.OpBegin(ctx, dbsqlc.OpBeginParams{WorkspaceID: q.ws, OpID: op, ArgsSha: sha[:]})
	if err != nil {
		return result, classify("begin "+op, err)
	}
	if n == 0 {
		row, err := q.q.OpGet(ctx, dbsqlc.OpGetParams{WorkspaceID: q.ws, OpID: op})
		if err != nil {
			return result, classify("read "+op, err)
		}
		if !bytes.Equal(row.ArgsSha, sha[:]) {
			return result, fault.New(fault.OpReused, fmt.Sprintf("operation %s was done before with other arguments", op), "")
		}
		if err := json.Unmarshal(row.Result, &result); err != nil {
			return result, fmt.Errorf("decode the result of %s: %w", op, err)
		}
		return result, nil
	}
	if result, err = effect(); err != nil {
		return result, err
	}
	if raw, err = encode("the result of "+op, result); err != nil {
		return result, err
	}
	n, err = q.q.OpEnd(ctx, dbsqlc.OpEndParams{Result: raw, WorkspaceID: q.ws, OpID: op})
	return result, oneRow("end "+op, n, err)
}
