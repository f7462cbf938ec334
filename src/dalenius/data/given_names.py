"""Given names that many people have, in several countries: enough to know a column of names by, not to know anybody."""

from __future__ import annotations

_NAMES = """
aaron abdul adam adrian agnes agnieszka ahmed alan albert alessandro alex alexander alexandra alfred ali alice
alicia alina alma amanda amelia amir amy ana anders andre andrea andreas andrew andrzej angela anita ann anna anne
annika anthony antoine antonia antonio antti arne arthur astrid aurora axel barbara beate benjamin berit bernard
bernd bettina bianca birgit bjorn bjørn bob brian britta bruno camilla carl carla carlos carmen carol caroline
catherine cecilia charles charlotte chiara chloe chris christian christina christine christoph christopher claire
clara claudia claus craig cristina daniel daniela daniele david deborah denise dennis diana diego dieter dirk
dmitri dominik donald doris dorota edith eduard edward elena elias elin elisa elisabeth elizabeth ella ellen elsa
emil emily emma emmanuel enrique erik erika ernst esther eva ewa fabian fatima felix fernando filip florian
francesca francesco francisco frank franz frederik fredrik frida friedrich gabriel gabriela gary georg george
gerald gerard gerd gerhard gianni giorgio giovanni giulia giuseppe grace grazyna greta gudrun guido gunnar gustav
günter hamza hanna hannah hans harald harry hassan heather heidi heike heinz helen helena helga helmut henrik henry
herbert hilde holger horst hugo ibrahim ida igor ines inga inge ingrid irena irene iris isaac isabel isabella
isabelle ivan jack jacob jakob jakub james jan jana jane janet jason javier jean jennifer jens jeremy jerzy jessica
joan joanna joao johan johanna johannes john jonas jonathan jorge jose josef joseph juan judith jules julia julian
julie jussi jutta jürgen kai kamil kari karin karl karla katarina katarzyna kate katharina katherine kathleen katja
katrin kenneth kevin khadija kim kirsten kjell klaus knut kristian kristin kristina krzysztof kurt lars laura
laurent lea lee lena leo leon leonie liam lina linda lisa liv louis louise luca lucas lucia lucy luis luisa lukas
luke magda magdalena magnus malgorzata manfred manuel manuela marc marcel marco marcus marek margaret margarita
maria marie marina mario marion marit mark markus marta martha martin martina mary mateusz mathias mats matteo
matthew matthias mattias maurice max maximilian maya mehmet melanie mia michael michal michel michele miguel mikael
mike mikko miriam mohamed mohammed monica monika morten muhammad mustafa nadia nadine nancy natalia natalie nathan
nicholas nick nicola nicolas nicole niels nikolai nils nina noah nora ola olaf olav ole olga oliver olivia omar
oscar oskar otto pablo pamela paola paolo pascal patricia patrick patrik paul paula paulina pavel pawel pedro peer
pekka per peter petra petter philip philipp pia pierre pilar piotr rachel rafael rainer ralf ralph raquel rasmus
rebecca regina renate rene ricardo richard rita robert roberto roland rolf roman ronald rosa rosemary rune ruth
ryan sabine sally samantha samir samuel sandra sara sarah scott sebastian serge sergio sigrid silke silvia simon
simone sofia sofie sonja sophia sophie stanislaw stefan stefania stefanie stefano steffen stella stephan stephanie
stephen steve steven stig stine sue susan susanne sven svetlana sylvia tatiana teresa terje theo theresa thomas
thorsten tim timo tobias tom tomas tomasz tone tony tor torsten trine tuomas ulf ulrich ulrike ursula uta uwe
valentina valerie vanessa vera veronica victor victoria viktor viktoria vincent virginia vladimir walter wanda
werner william willy wojciech wolfgang xavier yasmin yusuf yves yvonne zofia
"""
GIVEN = frozenset(_NAMES.split())
"""In small letters."""
