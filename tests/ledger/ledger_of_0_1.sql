BEGIN TRANSACTION;
CREATE TABLE bayesdp_accounts (
	dataset TEXT NOT NULL, 
	model TEXT NOT NULL, 
	description TEXT NOT NULL, 
	budget DOUBLE NOT NULL, 
	charges INTEGER NOT NULL, 
	PRIMARY KEY (dataset)
);
INSERT INTO "bayesdp_accounts" VALUES('steps','588970756d2e0505e9be8a2c5a4fc5167ab43b84a596c0874274e9f4037ebd73','fe2942d61f75b2fb36adea9df35daa81ae6b972088fce9573c0f7cd86dc8bac9',1.75,1);
INSERT INTO "bayesdp_accounts" VALUES('höhe','792d7c2bf1692bc2b42f5b9ff50d957eec0a8e99d05d6dabaa3cd65471f2d325','0d5d9317fbab1a000c04174680fa09a464290acb2d7168da613c9f97e340db46',2.0,2);
INSERT INTO "bayesdp_accounts" VALUES('te​am','792d7c2bf1692bc2b42f5b9ff50d957eec0a8e99d05d6dabaa3cd65471f2d325','5ff482b5305fa030849180db8cfc42bf6a54988a2245fd844cbf46829cbf9817',2.0,0);
CREATE TABLE bayesdp_entries (
	number INTEGER NOT NULL, 
	dataset TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	question TEXT, 
	charge INTEGER, 
	body TEXT NOT NULL, 
	timestamp TEXT NOT NULL, 
	previous TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (number), 
	UNIQUE (charge)
);
INSERT INTO "bayesdp_entries" VALUES(1,'steps','open',NULL,NULL,'{"budget":2.0,"description":{"columns":"7885d4aee0bafb56158bf0afe6245bc78db086023d26b94308f9ffbc1ea04513","missing":"error","records":20},"model":{"schema":1,"type":"independent"}}','2026-11-16T13:26:40.661164+00:00','0000000000000000000000000000000000000000000000000000000000000000','07ca3a9f91c8d3089c6eb1ba051082f67cf19595d56c48191501ace453e53536');
INSERT INTO "bayesdp_entries" VALUES(2,'steps','charge','08291fe79e189d65e9873af915f7c6737e975e2ad44cf0f4975efbd5a79f5bf8',NULL,'{"details":{"asked":{"epsilon":0.5},"epsilon":0.5,"epsilon_remaining":1.5,"epsilon_total":0.5,"query":{"column":"s","equals":1,"query":"count"},"sensitivity":1,"theorem":"independent"},"key":"5a182635d0a46565a80498ca68e9149d9a9c308cedbc59c5dc1c3098b722f788","query":{"bounds":[0.0,1.0],"column":"s","query":"sum","where":"any question"},"tau":0.5}','2026-11-16T13:26:40.666974+00:00','07ca3a9f91c8d3089c6eb1ba051082f67cf19595d56c48191501ace453e53536','50538dfc7517b1bef6bfbaa733f6b968d994473d31f9e1f117fe0d82a53ebf22');
INSERT INTO "bayesdp_entries" VALUES(3,'steps','answer','08291fe79e189d65e9873af915f7c6737e975e2ad44cf0f4975efbd5a79f5bf8',2,'{"alpha":7.0,"asked":{"epsilon":0.5},"assumption":"all records are independent of one another","beta":0.05,"dataset":"steps","entry":2,"epsilon":0.5,"epsilon_remaining":1.5,"epsilon_total":0.5,"head":"50538dfc7517b1bef6bfbaa733f6b968d994473d31f9e1f117fe0d82a53ebf22","interval":[2.0,14.0],"interval_level":0.95,"model_fingerprint":"588970756d2e0505e9be8a2c5a4fc5167ab43b84a596c0874274e9f4037ebd73","noise":2.0,"notes":[],"proof":"docs/theory/independent.md","protects":"one record, not the person behind several","query":{"column":"s","equals":1,"query":"count"},"query_fingerprint":"08291fe79e189d65e9873af915f7c6737e975e2ad44cf0f4975efbd5a79f5bf8","records":20,"reused":false,"rounding":0.0,"scale":2.0,"schema":1,"scope":"every pair of target values, any mechanism with that tau","tau":0.5,"theorem":"independent","timestamp":"2026-11-16T13:26:40+00:00","unit":1.0,"value":8,"worst_case":null}','2026-11-16T13:26:40.677422+00:00','50538dfc7517b1bef6bfbaa733f6b968d994473d31f9e1f117fe0d82a53ebf22','e578b8bce703daa2ca93dfcdde99fb61d827c15ff2538746f9862eacfab83858');
INSERT INTO "bayesdp_entries" VALUES(4,'steps','lower',NULL,NULL,'{"before":2.0,"budget":1.5,"reason":null}','2026-11-16T13:26:40.702843+00:00','e578b8bce703daa2ca93dfcdde99fb61d827c15ff2538746f9862eacfab83858','a2f0867f5100490e3a7286069420c744d0f3cb409571a915ddb9295c1a448fcf');
INSERT INTO "bayesdp_entries" VALUES(5,'steps','raise',NULL,NULL,'{"before":1.5,"budget":1.75,"reason":"agreed"}','2026-11-16T13:26:40.730324+00:00','a2f0867f5100490e3a7286069420c744d0f3cb409571a915ddb9295c1a448fcf','f8d1744fe383b5917f2a43860dfeac61e4da8fb4b41c69d704a5ac66d1b18ac7');
INSERT INTO "bayesdp_entries" VALUES(6,'höhe','open',NULL,NULL,'{"budget":2.0,"description":{"records":9},"model":{"type":"independent"}}','2026-11-16T13:26:40.735923+00:00','f8d1744fe383b5917f2a43860dfeac61e4da8fb4b41c69d704a5ac66d1b18ac7','2687f354398af5e2f4b97b069369026fa77ec48954aab3a67b2e3f469d1b0452');
INSERT INTO "bayesdp_entries" VALUES(7,'höhe','charge','q',NULL,'{"details":{},"key":"count","query":{"query":"count"},"tau":0.1}','2026-11-16T13:26:40.739814+00:00','2687f354398af5e2f4b97b069369026fa77ec48954aab3a67b2e3f469d1b0452','8a7b5dafe9444ba47a0348042575e836f86e99ffda000b2d1de577380b000f19');
INSERT INTO "bayesdp_entries" VALUES(8,'höhe','charge','r',NULL,'{"details":{},"key":"count","query":{"query":"count"},"tau":0.25}','2026-11-16T13:26:40.740854+00:00','8a7b5dafe9444ba47a0348042575e836f86e99ffda000b2d1de577380b000f19','ee8b20a8a4b330cf20bb8af7324d3b12f58ff03b96d5bf397a7c3c5730725857');
INSERT INTO "bayesdp_entries" VALUES(9,'te​am','open',NULL,NULL,'{"budget":2.0,"description":{"records":8},"model":{"type":"independent"}}','2026-11-16T13:26:40.743159+00:00','ee8b20a8a4b330cf20bb8af7324d3b12f58ff03b96d5bf397a7c3c5730725857','d7470089eee09975d775b3ff77d938ad4dd22f0518f78d5ca178b7b0a418a591');
CREATE TABLE bayesdp_ledger (
	id INTEGER NOT NULL, 
	schema INTEGER NOT NULL, 
	entries INTEGER NOT NULL, 
	head TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "bayesdp_ledger" VALUES(1,1,9,'d7470089eee09975d775b3ff77d938ad4dd22f0518f78d5ca178b7b0a418a591');
CREATE TABLE bayesdp_totals (
	dataset TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	"query" TEXT NOT NULL, 
	tau TEXT NOT NULL, 
	since INTEGER NOT NULL, 
	PRIMARY KEY (dataset, "key")
);
INSERT INTO "bayesdp_totals" VALUES('steps','5a182635d0a46565a80498ca68e9149d9a9c308cedbc59c5dc1c3098b722f788','{"bounds":[0.0,1.0],"column":"s","query":"sum","where":"any question"}','1/2',2);
INSERT INTO "bayesdp_totals" VALUES('höhe','count','{"query":"count"}','12610078956637389/36028797018963968',7);
CREATE INDEX bayesdp_entries_lookup ON bayesdp_entries (dataset, kind, question, number);
COMMIT;
