package store

import (
	"cairn/internal/service/offload"
)

// offloadTx is the transaction of the service offload.
type offloadTx struct{ session }

func (t offloadTx) Runs() offload.RunRepository {
	return struct {
		runRepository
		agentRunRepository
	}{t.runs(), t.agentRuns()}
}

func (t offloadTx) Items() offload.ItemRepository { return t.offloads() }

func (t offloadTx) Workspace() offload.WorkspaceRepository { return t.workspaces() }
