package client_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"cairn/starter/client"
)

func ExampleClient_Distill() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	conversation := []client.Message{
		{Role: "user", Content: "Checkout returns 502 since the last deploy. Bring it back."},
		{Role: "assistant", Content: "I check the health endpoint: it returns 502."},
		{Role: "user", Content: "Which release is the last healthy one?"},
		{Role: "assistant", Content: "Release r41. I roll back and wait for all replicas."},
		{Role: "user", Content: "Is it healthy again?"},
		{Role: "assistant", Content: "Yes, the health endpoint returns 200."}}
	result, err := c.Distill(context.Background(), conversation, client.Wait(time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	for _, task := range result.Report.Tasks {
		fmt.Println(task.Outcome, task.Skill, task.Version)
	}
	// Output: created service-deployment-rollback 1
}
