// Package train improves banks of memory skills from conversations with known answers. Training trains the policy of a
// bank, Evolution edits its skills in rounds, and PlayTrial compares a candidate with what is active on held-out
// conversations. A candidate is promoted only if it is better.
package train
