package apptest

import (
	"net/http"

	"cairn/internal/domain/access"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

// Handler returns the HTTP API.
func (b *Bundle) Handler() http.Handler { return b.App.Gateway(httpapi.NoMeter) }

// Key creates an API key for the workspace with the scope read, write or admin.
func (b *Bundle) Key(name, scope string) string {
	b.T.Helper()
	key, _, err := b.App.Keys.Create(b.T.Context(), b.Workspace.ID, name, []access.Scope{access.Scope(scope)})
	testkit.Must(b.T, err)
	return key
}
