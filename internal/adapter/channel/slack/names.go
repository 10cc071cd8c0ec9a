package slack

import (
	"context"
	"time"
)

// namesTime is the time of all names of an event: Slack waits 3 seconds for its acknowledgement.
const namesTime = 2 * time.Second

// name returns the name of a user, empty if it is not known.
func (a *Adapter) name(ctx context.Context, user string) string {
	return a.names.Get(user, func() (string, error) {
		u, err := a.client.GetUserInfoContext(ctx, user)
		if err != nil {
			return "", err
		}
		return firstOf(u.Profile.DisplayName, u.Profile.RealName, u.RealName, u.Name), nil
	})
}
