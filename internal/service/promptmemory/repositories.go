package promptmemory

import (
	"context"

	"cairn/internal/domain/settings"
)

// WorkspaceRepository reads and writes the workspace.
type WorkspaceRepository interface {
	Settings(ctx context.Context) (settings.Settings, error)
	RevokeSessions(ctx context.Context) (int, error) // makes prompt sessions read their memories again
}
