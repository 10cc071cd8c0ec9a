package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// pageSize is the number of items of one request of [list].
const pageSize = "200"

// list yields the items of all pages of a list, and requests a page when it is needed. After an error it stops.
func list[T any](ctx context.Context, c *Client, path, member string, filter url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		next := ""
		for {
			items, following, err := page[T](ctx, c, path, member, filter, next)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if following == "" {
				return
			}
			next = following
		}
	}
}

func page[T any](ctx context.Context, c *Client, path, member string, filter url.Values, cursor string) (items []T,
	next string, err error) {
	q := query("limit", pageSize, "cursor", cursor)
	for name, values := range filter {
		q[name] = values
	}
	var out map[string]json.RawMessage
	if err := c.call(ctx, http.MethodGet, path+"?"+q.Encode(), nil, &out, ""); err != nil {
		return nil, "", err
	}
	if raw, ok := out["next_cursor"]; ok {
		if err := json.Unmarshal(raw, &next); err != nil {
			return nil, "", err
		}
	}
	return items, next, json.Unmarshal(out[member], &items)
}

// query returns the parameters that have a value, from pairs of name and value.
func query(pairs ...string) url.Values {
	out := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out.Set(pairs[i], pairs[i+1])
		}
	}
	return out
}

// instant returns a time as a parameter, empty for the zero time.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}
