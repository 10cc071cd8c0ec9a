package telegram

import (
	"encoding/json"
	"fmt"

	"github.com/go-telegram/bot/models"

	"cairn/internal/domain/metrics"
)

// maxUpdates is the size of a response with updates that is read.
const maxUpdates = 64 << 20

// decodeUpdates decodes the updates of a response. One that has a form which the library does not know is left out: an
// error would stop all later ones. The next offset is above all IDs of the response and not above earlier ones, because
// after a quiet week Telegram begins with other IDs, which can be lower.
func decodeUpdates(raw json.RawMessage) (updates []models.Update, next int64, err error) {
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, 0, fmt.Errorf("decode updates: %w", err)
	}
	for _, one := range all {
		var head struct {
			ID int64 `json:"update_id"`
		}
		if err := json.Unmarshal(one, &head); err != nil {
			return nil, 0, fmt.Errorf("decode the ID of an update: %w", err)
		}
		next = max(next, head.ID+1)
		var u models.Update
		if err := json.Unmarshal(one, &u); err != nil {
			metrics.EventRejected("telegram", metrics.Undecodable)
			continue
		}
		updates = append(updates, u)
	}
	return updates, next, nil
}
