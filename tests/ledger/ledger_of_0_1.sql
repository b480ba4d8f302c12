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
INSERT INTO "bayesdp_entries" VALUES(1,'steps','open',NULL,NULL,'{"budget":2.0,"description":{"columns":"7885d4aee0bafb56158bf0afe6245bc78db086023d26b94308f9ffbc1ea04513","missing":"error","records":20},"model":{"schema":1,"type":"independent"}}','2026-11-16T13:46:02.657719+00:00','0000000000000000000000000000000000000000000000000000000000000000','ef8a8aefad71fca04df1594a7e5879f50595ed7e0bd477e580bc83e5fdad0eeb');
INSERT INTO "bayesdp_entries" VALUES(2,'steps','charge','08291fe79e189d65e9873af915f7c6737e975e2ad44cf0f4975efbd5a79f5bf8',NULL,'{"details":{"asked":{"epsilon":0.5},"epsilon":0.5,"epsilon_remaining":1.5,"epsilon_total":0.5,"query":{"column":"s","equals":1,"query":"count"},"sensitivity":1,"theorem":"independent"},"key":"5a182635d0a46565a80498ca68e9149d9a9c308cedbc59c5dc1c3098b722f788","query":{"bounds":[0.0,1.0],"column":"s","query":"sum","where":"any question"},"tau":0.5}','2026-11-16T13:46:02.666756+00:00','ef8a8aefad71fca04df1594a7e5879f50595ed7e0bd477e580bc83e5fdad0eeb','30cc4f7cc3cc8bdfe5a85d7ebec2818c055701f7dd6658a6c4d5c01b66635db6');
INSERT INTO "bayesdp_entries" VALUES(3,'steps','answer','08291fe79e189d65e9873af915f7c6737e975e2ad44cf0f4975efbd5a79f5bf8',2,'{"alpha":7.0,"asked":{"epsilon":0.5},"assumption":"all records are independent of one another","beta":0.05,"dataset":"steps","entry":2,"epsilon":0.5,"epsilon_remaining":1.5,"epsilon_total":0.5,"head":"30cc4f7cc3cc8bdfe5a85d7ebec2818c055701f7dd6658a6c4d5c01b66635db6","interval":[7.0,19.0],"interval_level":0.95,"model_fingerprint":"588970756d2e0505e9be8a2c5a4fc5167ab43b84a596c0874274e9f4037ebd73","noise":2.0,"notes":[],"proof":"docs/theory/independent.md","protects":"one record, not the person behind several","query":{"column":"s","equals":1,"query":"count"},"query_fingerprint":"08291fe79e189d65e9873af915f7c6737e975e2ad44cf0f4975efbd5a79f5bf8","records":20,"reused":false,"rounding":0.0,"scale":2.0,"schema":1,"scope":"every pair of target values, any mechanism with that tau","tau":0.5,"theorem":"independent","timestamp":"2026-11-16T13:46:02+00:00","unit":1.0,"value":13,"worst_case":null}','2026-11-16T13:46:02.695896+00:00','30cc4f7cc3cc8bdfe5a85d7ebec2818c055701f7dd6658a6c4d5c01b66635db6','6d435ed967b7eecc375033fa858a246bd8a27e5ba7dad2fa901d9fdebf582e78');
INSERT INTO "bayesdp_entries" VALUES(4,'steps','lower',NULL,NULL,'{"before":2.0,"budget":1.5,"reason":null}','2026-11-16T13:46:02.757139+00:00','6d435ed967b7eecc375033fa858a246bd8a27e5ba7dad2fa901d9fdebf582e78','2b01fd55c7cab7ab7f6328b7c1c9250959de6ff073b71b157fb3278f157891bd');
INSERT INTO "bayesdp_entries" VALUES(5,'steps','raise',NULL,NULL,'{"before":1.5,"budget":1.75,"reason":"agreed"}','2026-11-16T13:46:02.796954+00:00','2b01fd55c7cab7ab7f6328b7c1c9250959de6ff073b71b157fb3278f157891bd','92c9fe24a3eb400182c5de67f4fd26b5e4b6f826b05cd9c99632ea8542aa29ca');
INSERT INTO "bayesdp_entries" VALUES(6,'höhe','open',NULL,NULL,'{"budget":2.0,"description":{"records":9},"model":{"type":"independent"}}','2026-11-16T13:46:02.809920+00:00','92c9fe24a3eb400182c5de67f4fd26b5e4b6f826b05cd9c99632ea8542aa29ca','d0d1e281372f6072eed6c7a910f8c52f73be8bf383e50a1e7e11aa949ac86bc2');
INSERT INTO "bayesdp_entries" VALUES(7,'höhe','charge','q',NULL,'{"details":{"epsilon":0.1,"epsilon_total":0.1,"query":{"column":"s","equals":1,"query":"count"},"theorem":"independent"},"key":"count","query":{"bounds":[0.0,1.0],"column":"s","query":"sum","where":"any question"},"tau":0.1}','2026-11-16T13:46:02.832423+00:00','d0d1e281372f6072eed6c7a910f8c52f73be8bf383e50a1e7e11aa949ac86bc2','ba4e41699c4be0e9f96c2d7045452b900313a28201c5824ae68b571daec3b2a2');
INSERT INTO "bayesdp_entries" VALUES(8,'höhe','charge','r',NULL,'{"details":{"epsilon":0.25,"epsilon_total":0.35,"query":{"column":"s","equals":1,"query":"count"},"theorem":"independent"},"key":"count","query":{"bounds":[0.0,1.0],"column":"s","query":"sum","where":"any question"},"tau":0.25}','2026-11-16T13:46:02.833842+00:00','ba4e41699c4be0e9f96c2d7045452b900313a28201c5824ae68b571daec3b2a2','f6f2db3ba02afda98c0e5b47a7bcaaabdf4f41442fb96a75d8ce249071b3411c');
INSERT INTO "bayesdp_entries" VALUES(9,'te​am','open',NULL,NULL,'{"budget":2.0,"description":{"records":8},"model":{"type":"independent"}}','2026-11-16T13:46:02.855875+00:00','f6f2db3ba02afda98c0e5b47a7bcaaabdf4f41442fb96a75d8ce249071b3411c','fb98695a27f0bf63fd13d3d6032a45af72db819d3ef63624b75e6ebdd1521189');
CREATE TABLE bayesdp_ledger (
	id INTEGER NOT NULL, 
	schema INTEGER NOT NULL, 
	entries INTEGER NOT NULL, 
	head TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "bayesdp_ledger" VALUES(1,1,9,'fb98695a27f0bf63fd13d3d6032a45af72db819d3ef63624b75e6ebdd1521189');
CREATE TABLE bayesdp_totals (
	dataset TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	"query" TEXT NOT NULL, 
	tau TEXT NOT NULL, 
	since INTEGER NOT NULL, 
	PRIMARY KEY (dataset, "key")
);
INSERT INTO "bayesdp_totals" VALUES('steps','5a182635d0a46565a80498ca68e9149d9a9c308cedbc59c5dc1c3098b722f788','{"bounds":[0.0,1.0],"column":"s","query":"sum","where":"any question"}','1/2',2);
INSERT INTO "bayesdp_totals" VALUES('höhe','count','{"bounds":[0.0,1.0],"column":"s","query":"sum","where":"any question"}','12610078956637389/36028797018963968',7);
CREATE INDEX bayesdp_entries_lookup ON bayesdp_entries (dataset, kind, question, number);
COMMIT;
