//! Transactions of the pool, and whoever gives one up.

use crate::db::TestDb;
use rds_origin::store::Db;
use std::future::{Future, poll_fn};
use std::task::Poll;

#[tokio::test]
async fn a_transaction_that_was_given_up_as_it_began_leaves_no_connection_in_one() {
    let facts = TestDb::new().await;
    let db = Db::connect(&facts.url, 1).await.unwrap();
    for round in 0..20 {
        // Asked for, and not waited for: the database hears of it all the same.
        let mut begun = Box::pin(db.begin("BEGIN"));
        let asked = poll_fn(|context| Poll::Ready(begun.as_mut().poll(context).is_pending())).await;
        assert!(asked, "it takes an answer");
        drop(begun);
        sqlx::query(&format!("CREATE TABLE kept_{round} ()")).execute(&db.pool).await.unwrap();
        let seen: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
            .bind(format!("kept_{round}"))
            .fetch_one(&facts.db.pool)
            .await
            .unwrap();
        assert!(seen, "what was answered is committed, round {round}");
    }
}
