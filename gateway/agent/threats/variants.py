"""Characters written in several ways: each traditional or Japanese form, then the simplified one patterns are read in.

Only those that the patterns use.
"""

from __future__ import annotations

_PAIRS = (
    "無无視视規规則则設设開开發发從从現现關关來来說说話话對对網网絡络執执內内於于為为覆复隱隐並并檢检將将會会"
    "區区別别獲获記记錄录録录當当過过濾滤應应級级進进員员認认誰谁動动讀读読读實实須须據据務务統统連连傳传"
    "輸输轉转報报節节點点註注腳脚請请顯显顕显個个經经鏈链讓让間间單单啟启憶忆寫写碼码鑰钥憑凭證证変变變变係系"
    "總总総总複复審审処处處处発发実实伝传転转関关経经対对検检単单応应気气編编輯辑鍵键體体試试譯译訳译誌志調调"
    "護护銷销閉闭馬马標标歷历歴历給给續续続续蓋盖號号詞词類类復复丟丢僅仅偽伪刪删聽听屍尸帶带棄弃戶户拋抛毀毁"
    "沒没洩泄獄狱盜盗盤盘瞞瞒礎础竊窃筆笔緊紧約约繞绕縛缚裝装訴诉談谈謊谎運运跡迹郵邮雞鸡顧顾領领証证準准啓启"
    "後后貝贝"
)

VARIANTS = {ord(form): simplified for form, simplified in zip(_PAIRS[::2], _PAIRS[1::2], strict=True)}
