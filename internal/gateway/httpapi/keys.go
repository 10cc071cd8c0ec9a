package httpapi

import (
	"context"
	"net/http"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/channel"
)

const tagKeys = "keys"

type (
	// APIKey is a key of the workspace, without the key itself.
	APIKey access.Key
	// Person is a user of a chat platform.
	Person channel.Identity
	// Delivery is a message to a chat platform.
	Delivery channel.DeliveryView
)

// KeyList holds the keys of the workspace in order of creation, including revoked ones.
type KeyList struct {
	Keys []APIKey `json:"keys"`
}

// NewKey describes a key to create.
type NewKey struct {
	Name      string         `json:"name" minLength:"1" maxLength:"100" doc:"Name of the key's user"`
	Scopes    []access.Scope `json:"scopes" minItems:"1" maxItems:"3" enum:"read,write,admin" doc:"Scopes of the key; none may be above those of the caller's key"`
	ExpiresAt *time.Time     `json:"expires_at,omitempty" doc:"When the key expires; default and limit are the expiry of the caller's key, else never"`
}

// CreatedKey is a new key. The response is the only one that contains it.
type CreatedKey struct {
	Key string `json:"key" doc:"The key, shown this once"`
	APIKey
}

// DeliveryList is a page of deliveries.
type DeliveryList struct {
	Deliveries []Delivery `json:"deliveries"`
	NextCursor string     `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

func (g *Gateway) keyRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/keys", id: "listKeys", tag: tagKeys, scope: access.Admin,
		summary: "List the API keys of the workspace"}, g.listKeys)
	handle(g, route{method: http.MethodPost, path: "/v1/keys", id: "createKey", tag: tagKeys, scope: access.Admin,
		status: http.StatusCreated, bytes: smallBody, summary: "Create an API key",
		about: "The key grants access to the workspace of the caller's key. Keys of gateways and operators are made " +
			"only at the command line."}, g.createKey)
	handle(g, route{method: http.MethodDelete, path: "/v1/keys/{id}", id: "revokeKey", tag: tagKeys,
		scope: access.Admin, status: http.StatusNoContent, summary: "Revoke an API key",
		about: "Gateways reject the key within seconds."}, g.revokeKey)
	handle(g, route{method: http.MethodPost, path: "/v1/people/approve", id: "approvePerson", tag: tagKeys,
		scope: access.Gateway, bytes: smallBody, summary: "Let the user with a pairing code write",
		about: "Needs the key of a gateway, and a code of its account. The user gets a new workspace."},
		g.approvePerson)
	handle(g, route{
		method:  http.MethodGet,
		path:    "/v1/deliveries",
		id:      "listDeliveries",
		tag:     tagKeys,
		scope:   access.Read,
		summary: "List the messages to chat platforms, dead ones first, then the latest",
	}, g.listDeliveries)
	handle(g, route{method: http.MethodPost, path: "/v1/deliveries/{id}/retry", id: "retryDelivery", tag: tagKeys,
		scope: access.Admin, status: http.StatusNoContent, summary: "Send a dead delivery again"}, g.retryDelivery)
	handle(g, route{method: http.MethodPost, path: "/v1/deliveries/{id}/drop", id: "dropDelivery", tag: tagKeys,
		scope: access.Admin, status: http.StatusNoContent, summary: "Give up a dead delivery"}, g.dropDelivery)
	handle(g, route{method: http.MethodGet, path: "/v1/people", id: "listPeople", tag: tagKeys, scope: access.Read,
		summary: "List the users and groups of chat platforms that belong to the workspace"}, g.listPeople)
}

func (g *Gateway) listKeys(ctx context.Context, _ *struct{}) (*bodyOf[KeyList], error) {
	all, err := g.Keys.List(ctx, workspace(ctx))
	out := &bodyOf[KeyList]{KeyList{[]APIKey{}}}
	for _, k := range all {
		out.Body.Keys = append(out.Body.Keys, APIKey(k))
	}
	return out, err
}

func (g *Gateway) createKey(ctx context.Context, in *struct{ Body NewKey }) (*bodyOf[CreatedKey], error) {
	key, made, err := g.Keys.CreateWithin(ctx, asking(ctx), in.Body.Name, in.Body.Scopes, in.Body.ExpiresAt)
	return &bodyOf[CreatedKey]{CreatedKey{key, APIKey(made)}}, err
}

func (g *Gateway) revokeKey(ctx context.Context, in *struct {
	ID int64 `path:"id" minimum:"1" doc:"The key's number"`
}) (*struct{}, error) {
	return nil, g.Keys.Revoke(ctx, workspace(ctx), in.ID)
}

func (g *Gateway) approvePerson(ctx context.Context, in *struct {
	Body struct {
		Code string `json:"code" minLength:"1" maxLength:"20" doc:"The code that the user got"`
	}
}) (*bodyOf[Person], error) {
	var i channel.Identity
	err := g.Edge.Attempt(ctx, func(ctx context.Context) (err error) {
		i, err = g.People.ApproveFor(ctx, asking(ctx).Account, in.Body.Code)
		return err
	})
	return &bodyOf[Person]{Person(i)}, err
}

func (g *Gateway) listDeliveries(ctx context.Context, in *struct {
	State  string `query:"state" enum:"streaming,ready,sent,dead,dropped" doc:"Only deliveries in this state"`
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"1000"`
	Cursor string `query:"cursor" maxLength:"200" doc:"next_cursor of the previous page"`
}) (*bodyOf[DeliveryList], error) {
	all, next, err := g.People.ListDeliveries(ctx, workspace(ctx), in.State, in.Cursor, in.Limit)
	out := &bodyOf[DeliveryList]{DeliveryList{[]Delivery{}, next}}
	for _, d := range all {
		out.Body.Deliveries = append(out.Body.Deliveries, Delivery(d))
	}
	return out, err
}

// DeliveryPath is the path parameter that names a delivery.
type DeliveryPath struct {
	ID int64 `path:"id" minimum:"1" doc:"The delivery's number"`
}

func (g *Gateway) retryDelivery(ctx context.Context, in *DeliveryPath) (*struct{}, error) {
	return nil, g.People.Retry(ctx, workspace(ctx), in.ID)
}

func (g *Gateway) dropDelivery(ctx context.Context, in *DeliveryPath) (*struct{}, error) {
	return nil, g.People.Drop(ctx, workspace(ctx), in.ID)
}

// PersonList holds users and groups of chat platforms.
type PersonList struct {
	People []Person `json:"people"`
}

func (g *Gateway) listPeople(ctx context.Context, in *struct {
	Limit int `query:"limit" default:"100" minimum:"1" maximum:"1000"`
}) (*bodyOf[PersonList], error) {
	all, err := g.People.PeopleOf(ctx, workspace(ctx), in.Limit)
	out := &bodyOf[PersonList]{PersonList{[]Person{}}}
	for _, i := range all {
		out.Body.People = append(out.Body.People, Person(i))
	}
	return out, err
}
