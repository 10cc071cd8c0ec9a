package bank

import (
	"context"
	"fmt"
	"strings"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// contextMessages is the number of messages to read before the new ones, because a correction may
// refer to an earlier reply.
const contextMessages = 8

// RecordCorrections creates cases for replies that the user corrects in the messages from from on.
// Each correction has one effect, even if the conversation is read again.
func RecordCorrections(ctx context.Context, tx store.Tx, bankID, conversation int64, from, to int) error {
	c, err := tx.Transcripts().Conversation(ctx, conversation, max(0, from-contextMessages), to)
	if err != nil {
		return err
	}
	var asked, answer transcript.Message
	for _, m := range memory.Dialogue(c.Messages) {
		switch {
		case m.Role == transcript.Assistant && strings.TrimSpace(m.Content) != "":
			answer = m
		case m.Role == transcript.User:
			if answer.Content != "" && asked.Content != "" && m.Seq >= from {
				if err := recordCorrection(ctx, tx, bankID, conversation, asked, answer, m); err != nil {
					return err
				}
			}
			asked, answer = m, transcript.Message{}
		}
	}
	return nil
}

// recordCorrection creates a case if the message corrects the reply. Questions that are too long
// are skipped.
func recordCorrection(ctx context.Context, tx store.Tx, bankID, conversation int64, asked, answer,
	correction transcript.Message) error {
	right, found := designer.Correction(correction.Content, answer.Content)
	if !found {
		return nil
	}
	prediction := []rune(answer.Content)
	f := FailedQuestion{Op: fmt.Sprintf("corrected/%d/%d", conversation, correction.Seq), Source: FromCorrection,
		Question: asked.Content, Prediction: string(prediction[:min(len(prediction), maxAnswerRunes)]),
		Conversation: conversation}
	if right != "" {
		f.Gold, f.Evidence = []string{right}, []int{correction.Seq}
	}
	turn, _, err := tx.Turns().TurnOf(ctx, conversation, asked.ID) // imported messages have none
	if err != nil {
		return err
	}
	f.Run = turn.Run
	one, err := f.check()
	if err != nil {
		return nil //nolint:nilerr // a correction that cannot become a case
	}
	one.Bank = bankID
	_, err = record(ctx, tx, one, learning.Vote{})
	return err
}
